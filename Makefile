.PHONY: test demo soak

# All checks and tests, on SQLite and on a private PostgreSQL; installs what is missing.
test:
	scripts/test.sh

# One minute with the program: a folder, an index, two users.
demo:
	scripts/demo.sh

# An hour of random worlds that nobody has seen before.
soak:
	cargo x simulate --fresh --minutes 60 --seeds 10000000 --repeat 5
