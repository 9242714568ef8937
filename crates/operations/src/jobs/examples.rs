//! What answers about jobs look like; the test of the table reads them.

/// Of `jobs.list`.
pub(super) const LIST: &str = r#"{"jobs": [{"job": "share", "state": "resting", "hold": "no run was asked for, and it has no schedule; start it", "manifold_state": "INACTIVE", "documents": 1200, "states": {"waiting": 3, "settled": 1194, "failed": 1, "skipped": 2}, "root": "/srv/share",
    "outputs": ["index"], "keep": "nothing", "definition": {"name": "share", "repository": "files",
    "source": {"root": "/srv/share"}, "stages": [{"transform": "text", "settings": {}}], "outputs": ["index"],
    "delete_guard": "off", "compare_content": true}, "error": null, "run": null}], "begun": true, "works": false, "next": "0a1b2c3d7368617265"}"#;

/// Of `jobs.show`.
pub(super) const SHOWN: &str = r#"{"job": "share", "state": "resting", "hold": "no run was asked for, and it has no schedule; start it", "manifold_state": "INACTIVE", "documents": 1200, "states": {"waiting": 3, "settled": 1194, "failed": 1, "skipped": 2}, "root": "/srv/share",
    "outputs": ["index"], "keep": "extracted", "definition": {"name": "share", "repository": "files",
    "source": {"root": "/srv/share", "exclude": ["drafts"]}, "stages": [{"transform": "text", "settings": {}}],
    "outputs": ["index"], "delete_guard": {"limits": {"percent": 10, "documents": 20}}, "compare_content": false},
    "error": "the source is missing",
    "run": {"run": 7, "kind": "full", "started_at": 1767225600000, "listed_at": 1767225601000,
    "ended_at": 1767225602000, "outcome": "failed", "guard": "held", "counts": {"added": 1, "updated": 0, "access": 0,
    "unchanged": 1198, "skipped": 0, "failed": 1, "waiting": 0, "deleted": 0, "kept": 0, "held": 3, "partial": 0},
    "error": "the source is missing"}, "schedule": {"words": "every 1 d", "next": [1767312000000, 1767398400000, 1767484800000]}, "paused": true,
    "restart": "minimal", "rereads": true, "works": false,
    "progress": {"doing": "listing", "seen": 400, "known": 1200, "changed": 7, "delivered": 5, "removed": 0, "bytes": 1024, "percent": 33, "left_ms": 8000},
    "blind": [{"scope": "notes/", "cause": "unreadable", "message": "permission denied"}]}"#;

/// Of `jobs.runs`.
pub(super) const RUNS: &str = r#"{"runs": [{"run": 8, "kind": "minimal", "started_at": 1767225600000, "listed_at": null,
    "ended_at": null, "outcome": null, "guard": null, "counts": {"added": 0, "updated": 0, "access": 0, "unchanged": 0,
    "skipped": 0, "failed": 0, "waiting": 0, "deleted": 0, "kept": 0, "held": 0, "partial": 0}, "error": null}],
    "next": "0a1b2c3d38"}"#;
