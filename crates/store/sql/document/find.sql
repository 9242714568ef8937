-- Documents of one parent by key; for parents whose items come in several pages.
SELECT parent, id, own, version, access, settings, class, place FROM document WHERE job = $1 AND parent = $2 AND own IN any_of($3)
