-- Whether anything is kept at all: its last document.
SELECT max(document) FROM extract
