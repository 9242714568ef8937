.PHONY: test demo soak

# All checks and tests, on SQLite and on a private PostgreSQL; installs what is missing.
test:
	scripts/test.sh

# One minute with the program: a folder, an index, two users.
demo:
	scripts/demo.sh

# An hour of random worlds that nobody has seen before; then an hour of 64 clients at once, and a service that is killed 1,000 times, on both
# stores.
soak:
	cargo x simulate --fresh --minutes 60 --seeds 10000000 --repeat 5
	scripts/soak.sh
