//! What it takes to say which access tokens somebody holds: many slow authorities, and an answer that is kept.

use std::sync::Arc;
use std::time::{Duration, Instant};

use ingather_contract::authority::{Account, Answer, Authority, AuthorityKind};
use ingather_contract::call::{CallContext, Cancel};
use ingather_contract::registry::Registry;
use ingather_contract::settings::schema_of;
use ingather_engine::authorities::{Authorities, User, Which};
use ingather_model::access::authority::Asking;
use ingather_model::access::identity::Group;
use ingather_model::fault::Fault;
use ingather_store::authorities::{Declared, declare};
use ingather_store::{Durability, Store, Target};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::thousands;
use crate::measure::{Line as Command, median, pause, run, used};
use crate::page::{Goal, Line};
use crate::service::Service;
use crate::synthetic::SystemClock;
use crate::{Bench, Result};

const AUTHORITIES: usize = 20;
/// How long each of them takes.
const TAKES: Duration = Duration::from_millis(100);
/// Times that all of them are asked.
const TIMES: usize = 21;
/// Clients that ask for what is kept.
const CLIENTS: usize = 4;

/// An authority that takes its time.
static SLOW: AuthorityKind = AuthorityKind {
    name: "slow",
    about: "Answers late.",
    schema: schema_of::<Settings>,
    kept: Duration::ZERO,
    open: |_, _| Ok(Arc::new(Slow)),
};
static KINDS: &[&AuthorityKind] = &[&SLOW];

#[derive(Deserialize, JsonSchema)]
struct Settings {}

struct Slow;

impl Authority for Slow {
    fn check(&self, _: &CallContext) -> std::result::Result<String, Fault> {
        Ok("it answers late".to_owned())
    }

    fn tokens(&self, _: &CallContext, account: &Account<'_>) -> std::result::Result<Answer, Fault> {
        pause(TAKES);
        Ok(Answer::Known([account.name].into_iter().collect()))
    }
}

/// Both.
pub(super) fn measure(bench: &Bench) -> Result<Vec<Line>> {
    let mut lines = at_once(bench)?;
    lines.extend(kept(bench)?);
    Ok(lines)
}

fn at_once(bench: &Bench) -> Result<Vec<Line>> {
    let data = bench.path("authorities");
    std::fs::create_dir_all(&data)?;
    let store = Store::open(&Target::Sqlite(data.join("store.db")))?;
    store.write(Durability::Synced, |sql| {
        for number in 0..AUTHORITIES {
            let (group, asking) = (Group::named(format!("group {number}")), Asking::default());
            let declared = Declared { kind: SLOW.name.to_owned(), settings: json!({}), group, asking };
            declare(sql, &format!("authority {number}"), &declared, 0)?;
        }
        Ok(())
    })?;
    let registry = Registry { authorities: KINDS, ..ingather_connectors::ALL };
    let (all, call) =
        (Authorities::default(), CallContext { clock: Arc::new(SystemClock), cancel: Cancel::default() });
    let ann = User { name: "ann".to_owned(), domain: String::new() };
    let ask = || -> Result<f64> {
        let begun = Instant::now();
        let said =
            all.ask((Some(store.reader()), &registry), &call, (std::slice::from_ref(&ann), Which::All))?;
        let took = begun.elapsed().as_secs_f64() * 1e3;
        match said.iter().filter(|said| said.kind == SLOW.name && said.answer.is_ok()).count() {
            AUTHORITIES => Ok(took),
            answered => Err(format!("{answered} of {AUTHORITIES} authorities answered").into()),
        }
    };
    let took = (0..TIMES).map(|_| ask()).collect::<Result<Vec<f64>>>()?;
    drop(all);
    drop(store);
    std::fs::remove_dir_all(&data)?;
    let longest = took.iter().copied().fold(0.0, f64::max);
    Ok(vec![Line {
        work: format!("tokens of a user by {AUTHORITIES} authorities that take 100 ms each, nothing kept"),
        ours: format!("{TIMES} times: longest {longest:.1} ms"),
        beside: "ManifoldCF's pool of ten threads: 200 ms by arithmetic".to_owned(),
        what: "median",
        value: median(took),
        unit: "ms",
        goal: Goal::Most(110.0),
    }])
}

/// What one client met, milliseconds each.
fn asks(service: &Service, times: usize) -> Result<Vec<f64>> {
    let mut client = service.client()?;
    let ask = |_| {
        let begun = Instant::now();
        let told = client.get("/authority/tokens?user=ann&domain=company")?;
        match &told["authorities"][0]["kept"] {
            Value::Bool(true) => Ok(begun.elapsed().as_secs_f64() * 1e3),
            _ => Err(format!("nothing was kept: {told}").into()),
        }
    };
    (0..times).map(ask).collect()
}

fn kept(bench: &Bench) -> Result<Vec<Line>> {
    let file = bench.path("people.json");
    let tokens: Vec<String> = (0..20).map(|number| format!("group {number}")).collect();
    std::fs::write(&file, json!({"users": {"ann": tokens}}).to_string())?;
    let directory =
        json!({"kind": "listed", "settings": {"file": file}, "domain": "company", "kept_ms": 3_600_000});
    let declared = bench.path("people.declared.json");
    std::fs::write(&declared, json!({"version": 1, "authorities": {"directory": directory}}).to_string())?;
    let apply = Command::new(&bench.program).and(["--data"]).and([bench.path("kept")]);
    run(&apply.and(["apply", "-f"]).and([&declared]))?;
    let service = Service::start(bench, "kept", None, &[])?;
    let mut client = service.client()?;
    client.get("/authority/tokens?user=ann&domain=company")?;
    let each = bench.size(40_000) / CLIENTS;
    asks(&service, each.min(1_000))?;
    let spent = || used(service.pid()).ok_or("the service has ended");
    let (before, begun) = (spent()?, Instant::now());
    let met = std::thread::scope(|scope| {
        let clients: Vec<_> = (0..CLIENTS)
            .map(|_| scope.spawn(|| asks(&service, each).map_err(|error| error.to_string())))
            .collect();
        clients
            .into_iter()
            .map(|client| client.join().map_err(|_| "a client panicked".to_owned())?)
            .collect::<std::result::Result<Vec<_>, _>>()
    })?;
    let wall = begun.elapsed().as_secs_f64();
    let spent = spent()? - before;
    let mut took = met.concat();
    took.sort_by(f64::total_cmp);
    let count = took.len();
    let p99 = took[count * 99 / 100];
    drop(client);
    drop(service);
    std::fs::remove_dir_all(bench.path("kept"))?;
    let line = |what, value, unit, most| Line {
        work: format!(
            "{} answers that are kept, of 20 tokens, over HTTP by {CLIENTS} clients on the same machine",
            thousands(count)
        ),
        ours: format!(
            "{:.0} answers/s, p50 {:.2} ms, longest {:.1} ms",
            count as f64 / wall,
            took[count / 2],
            took[count - 1]
        ),
        beside: "–".to_owned(),
        what,
        value,
        unit,
        goal: Goal::Most(most),
    };
    Ok(vec![
        line("CPU of the service for an answer", spent / count as f64 * 1e6, "µs", 50.0),
        line("p99", p99, "ms", 5.0),
    ])
}
