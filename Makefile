.PHONY: test demo

test:
	cargo test --workspace
