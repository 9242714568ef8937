.PHONY: test demo

# All checks and tests, on SQLite and on a private PostgreSQL; installs what is missing.
test:
	scripts/test.sh

# One minute with the program: a folder, an index, two users.
demo:
	scripts/demo.sh
