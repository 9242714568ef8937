//! table: the floors of the house. Which crate may use which, and where heavy libraries live; `cargo x tidy` compares.

/// One crate: what it may use, and what only its tests may use besides.
pub(crate) struct Floor {
    /// Name of the package.
    pub(crate) package: &'static str,
    /// Crates of ours that it may use.
    pub(crate) uses: &'static [&'static str],
    /// Crates of ours that its tests may use besides.
    pub(crate) tests_use: &'static [&'static str],
}

/// A heavy library and the crate that hides it.
pub(crate) struct Heavy {
    /// Name of the library.
    pub(crate) library: &'static str,
    /// Packages that may declare it.
    pub(crate) only: &'static [&'static str],
    /// What the others do instead.
    pub(crate) instead: &'static str,
}

const MODEL: &str = "ingather-model";
const CONTRACT: &str = "ingather-contract";
const KIT: &str = "ingather-kit";
const INDEX: &str = "ingather-index";
const POSTGRES: &str = "ingather-postgres";
const STORE: &str = "ingather-store";
const ENGINE: &str = "ingather-engine";
const CONNECTORS: &str = "ingather-connectors";
const DIRECTORY: &str = "ingather-directory";
const EXTRACT: &str = "ingather-extract";
const PUSHED: &str = "ingather-pushed";
const WEB: &str = "ingather-web";
const OUTPUTS: &str = "ingather-outputs";
const NOTIFY: &str = "ingather-notify";
const OPERATIONS: &str = "ingather-operations";
const SERVER: &str = "ingather-server";
const APP: &str = "ingather-app";
const TESTKIT: &str = "ingather-testkit";
const SIMULATOR: &str = "ingather-simulator";
const BENCH: &str = "ingather-bench";
const XTASK: &str = "xtask";

/// From the ground up.
pub(crate) const FLOORS: &[Floor] = &[
    Floor { package: MODEL, uses: &[], tests_use: &[] },
    Floor { package: CONTRACT, uses: &[MODEL], tests_use: &[TESTKIT] },
    // Apart from the store: an authority asks databases, too, and nothing above a server is known here.
    Floor { package: POSTGRES, uses: &[MODEL], tests_use: &[] },
    Floor { package: STORE, uses: &[MODEL, POSTGRES], tests_use: &[TESTKIT] },
    Floor { package: ENGINE, uses: &[MODEL, CONTRACT, STORE], tests_use: &[TESTKIT] },
    Floor { package: EXTRACT, uses: &[MODEL], tests_use: &[] },
    Floor { package: KIT, uses: &[], tests_use: &[] },
    Floor { package: INDEX, uses: &[MODEL, CONTRACT, KIT], tests_use: &[TESTKIT] },
    Floor {
        package: CONNECTORS,
        uses: &[MODEL, CONTRACT, KIT, EXTRACT, INDEX, WEB, DIRECTORY, OUTPUTS, PUSHED],
        tests_use: &[TESTKIT],
    },
    // Apart from the other connectors: what speaks to directories knows passwords, and is read by itself.
    Floor { package: DIRECTORY, uses: &[MODEL, CONTRACT, POSTGRES], tests_use: &[TESTKIT] },
    // Apart from the other connectors: its HTTP client is heavy, and nothing of it needs the index.
    Floor { package: WEB, uses: &[MODEL, CONTRACT, KIT], tests_use: &[TESTKIT, EXTRACT] },
    // Apart from the other connectors: worlds of the test kit have the very one that runs.
    Floor { package: PUSHED, uses: &[MODEL, CONTRACT], tests_use: &[TESTKIT] },
    // Apart from the other connectors: it speaks to servers over a network, and its tests need one.
    Floor { package: OUTPUTS, uses: &[MODEL, CONTRACT], tests_use: &[TESTKIT] },
    // Every way of telling people, as connectors are every real system.
    Floor { package: NOTIFY, uses: &[MODEL, CONTRACT], tests_use: &[] },
    // What can be asked of the program, without a terminal and without HTTP. Connectors are reached by their contracts alone.
    Floor { package: OPERATIONS, uses: &[MODEL, CONTRACT, STORE, ENGINE], tests_use: &[TESTKIT] },
    // It lets operations work, and reaches nothing around them.
    Floor { package: SERVER, uses: &[MODEL, OPERATIONS], tests_use: &[TESTKIT] },
    Floor {
        package: APP,
        uses: &[
            MODEL, CONTRACT, STORE, ENGINE, OPERATIONS, KIT, INDEX, CONNECTORS, EXTRACT, WEB, NOTIFY, SERVER,
        ],
        tests_use: &[TESTKIT],
    },
    Floor { package: TESTKIT, uses: &[MODEL, CONTRACT, STORE, ENGINE, PUSHED], tests_use: &[CONNECTORS] },
    Floor { package: SIMULATOR, uses: &[MODEL, STORE, TESTKIT], tests_use: &[] },
    // Beside the house: it puts the same parts together as the program, and measures them.
    Floor {
        package: BENCH,
        uses: &[MODEL, CONTRACT, STORE, ENGINE, KIT, INDEX, CONNECTORS, EXTRACT],
        tests_use: &[TESTKIT],
    },
    Floor {
        package: XTASK,
        uses: &[MODEL, CONTRACT, STORE, ENGINE, OPERATIONS, CONNECTORS, SERVER, APP],
        tests_use: &[TESTKIT],
    },
];

/// Libraries that only one crate may know.
pub(crate) const HEAVY: &[Heavy] = &[
    Heavy {
        library: "rusqlite",
        // The program's tests damage stores; the test kit reads the inventory without the store's own statements; the bench
        // counts what is written.
        only: &[STORE, TESTKIT, APP, BENCH],
        instead: "ask the store: a statement in its sql folder and a call",
    },
    Heavy {
        library: "postgres",
        // The test kit and the program's tests make and drop databases.
        only: &[STORE, TESTKIT, APP],
        instead: "ask the store: a statement in its sql folder and a call",
    },
    Heavy {
        library: "tokio-postgres",
        only: &[POSTGRES, STORE, DIRECTORY],
        instead: "ask the store: a statement in its sql folder and a call",
    },
    // The bench compares the index with the bare library.
    Heavy { library: "tantivy", only: &[INDEX, BENCH], instead: "go through the contract of outputs" },
    Heavy {
        library: "ureq",
        only: &[CONNECTORS, DIRECTORY, NOTIFY, OUTPUTS],
        instead: "go through the contract of a connector",
    },
    Heavy { library: "async-nats", only: &[OUTPUTS], instead: "go through the contract of outputs" },
    Heavy { library: "lettre", only: &[NOTIFY], instead: "go through the contract of a notifier" },
    Heavy { library: "clap", only: &[APP], instead: "take the choice as a parameter" },
    Heavy { library: "clap_complete", only: &[APP], instead: "take the choice as a parameter" },
    Heavy { library: "indicatif", only: &[APP], instead: "report progress as data; the program draws it" },
    Heavy { library: "hayro-interpret", only: &[EXTRACT], instead: "ask the pool of readers" },
    Heavy { library: "quick-xml", only: &[EXTRACT, CONNECTORS, WEB], instead: "ask the pool of readers" },
    Heavy { library: "axum", only: &[SERVER], instead: "return values; the server speaks HTTP" },
    // The web crate is a client: it decides which addresses are connected to, which a library above would do by itself.
    // The bench compares a crawl with the bare client.
    Heavy { library: "hyper", only: &[SERVER, WEB, BENCH], instead: "return values; the server speaks HTTP" },
    Heavy {
        library: "prometheus",
        only: &[SERVER],
        instead: "return figures; the server writes them for monitoring systems",
    },
    Heavy {
        library: "hyper-util",
        only: &[SERVER, WEB, BENCH],
        instead: "return values; the server speaks HTTP",
    },
];
