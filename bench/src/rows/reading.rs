//! What reading formats costs: beside Apache Tika, beside a loop without children, beside documents that crash, and in
//! memory for files that are made to hurt.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use super::{figures, sync, thousands};
use crate::measure::{Cost, Line as Command, Pairs, cpu, middle, pairs, run, wall};
use crate::page::{Goal, Line};
use crate::{Bench, Result, malformed, reading, trees};

/// Where real files are: beside the checkout, or beside the folder of checkouts.
const PLACES: &[&str] = &["../shared/data/extraction/documents", "../../shared/data/extraction/documents"];
/// Tika reads words in pictures wherever there is a tesseract, which takes minutes; `extract` does when it is asked to.
const TIKA_CONFIG: &str = r#"<properties><parsers><parser class="org.apache.tika.parser.DefaultParser">
<parser-exclude class="org.apache.tika.parser.ocr.TesseractOCRParser"/></parser></parsers></properties>"#;
/// Bytes of one page.
const PAGE_BYTES: usize = 20 << 10;
/// Memory that reading may cost the program itself, whatever the document, MiB.
const OWN_MIB_MAX: f64 = 100.0;

/// Reads all files of a folder through children that are this program or that one.
fn pool(root: &Path, program: &Path, arguments: &[&str]) -> Result<Command> {
    let own = Command::new(std::env::current_exe()?).and(["reading", "pool"]).and([root, program]);
    Ok(own.and(arguments))
}

/// What the pool said at its end.
fn told(cost: &Cost) -> Result<serde_json::Value> {
    Ok(serde_json::from_str(&cost.out).map_err(|error| format!("the pool said {:?}: {error}", cost.out))?)
}

/// `ingather extract` beside Tika's batch mode, whole processes; then without what both need for a single small file, which is
/// the start of the programs, of Java above all.
pub(super) fn extract(bench: &Bench) -> Result<Vec<Line>> {
    let folder = PLACES.iter().map(PathBuf::from).find(|place| place.is_dir());
    let Some(folder) = folder.filter(|_| !bench.small) else {
        println!("left out: needs real files at one of {PLACES:?}, and a full bench");
        return Ok(Vec::new());
    };
    let jar = std::process::Command::new("scripts/tika.sh").output()?;
    let jar = match jar.status.success() {
        true => String::from_utf8(jar.stdout)?.trim().to_owned(),
        false => return Err(String::from_utf8_lossy(&jar.stderr).into()),
    };
    let single = bench.path("single");
    std::fs::create_dir_all(&single)?;
    std::fs::write(single.join("a.txt"), "a few words")?;
    let (files, all) = beside_tika(bench, &jar, &folder)?;
    let (_, start) = beside_tika(bench, &jar, &single)?;
    std::fs::remove_dir_all(&single)?;
    let [mine, theirs, my_start, their_start] =
        [&all.ours, &all.floor, &start.ours, &start.floor].map(|costs| middle(costs));
    let line = |work: &str, value| Line {
        work: format!("`extract --json` over {files} real files of 25 formats, {work}"),
        ours: figures(&mine),
        beside: format!("Tika, batch mode: {}", figures(&theirs)),
        what: "CPU",
        value,
        unit: "×",
        goal: Goal::Most(0.1),
    };
    let started = |of: &Cost, start: &Cost| (of.cpu - start.cpu).max(0.0);
    Ok(vec![
        line("whole processes", all.ratio(cpu)),
        Line {
            ours: format!("a single small file: {}", figures(&my_start)),
            beside: format!("Tika, batch mode, a single small file: {}", figures(&their_start)),
            ..line(
                "without the CPU that a single small file takes",
                started(&mine, &my_start) / started(&theirs, &their_start),
            )
        },
    ])
}

/// All files of a folder through both, in turn; their number, and what it cost.
fn beside_tika(bench: &Bench, jar: &str, folder: &Path) -> Result<(usize, Pairs)> {
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<Result<_>>()?;
    files.sort();
    let ours = Command::new(&bench.program).and(["extract", "--json"]).and(&files);
    let config = bench.path("tika.xml");
    std::fs::write(&config, TIKA_CONFIG)?;
    let config = format!("--config={}", config.display());
    let tika = Command::new("java").and(["-jar", jar, &config, "-t", "-i"]).and([folder]).and(["-o"]);
    let mut turn = 0;
    let beside = pairs(
        bench.pairs.max(3),
        || run(&ours),
        || {
            turn += 1;
            let into = bench.path(&format!("tika-{turn}"));
            let cost = run(&tika.clone().and([&into]))?;
            let written = std::fs::read_dir(&into)?.count();
            std::fs::remove_dir_all(&into)?;
            match written * 10 >= files.len() * 9 {
                true => Ok(cost),
                false => Err(format!("Tika wrote only {written} of {} files", files.len()).into()),
            }
        },
    )?;
    Ok((files.len(), beside))
}

/// Many pages of the web through the pool, beside the reader in a loop.
pub(super) fn html(bench: &Bench) -> Result<Vec<Line>> {
    let count = bench.size(100_000);
    let root = bench.path("pages");
    trees::pages(&root, "page-", count, PAGE_BYTES)?;
    let bare = Command::new(std::env::current_exe()?).and(["reading", "bare"]).and([&root]);
    let ours = pool(&root, &bench.program, &["extract-worker"])?;
    let beside = pairs(bench.pairs, || run(&ours), || run(&bare))?;
    for (ours, floor) in beside.ours.iter().zip(&beside.floor) {
        let (ours, floor) = (told(ours)?, told(floor)?);
        if ours["text_bytes"] != floor["text_bytes"] {
            return Err(format!("the pool read something else than the loop: {ours} {floor}").into());
        }
    }
    std::fs::remove_dir_all(&root)?;
    Ok(vec![Line {
        work: format!("{} HTML files of 20 KiB through the pool", thousands(count)),
        ours: figures(&middle(&beside.ours)),
        beside: format!("the reader in a loop, one process: {}", figures(&middle(&beside.floor))),
        what: "CPU",
        value: beside.ratio(cpu),
        unit: "×",
        goal: Goal::Most(1.5),
    }])
}

/// Pages in a hundred folders of different access, for which different processes read, beside folders of the same access.
pub(super) fn apart(bench: &Bench) -> Result<Vec<Line>> {
    const FOLDERS: usize = 100;
    let each = bench.size(50_000) / FOLDERS;
    let (root, data) = (bench.path("apart"), bench.path("data"));
    let folder = |number: usize| root.join(format!("group-{number:03}"));
    for number in 0..FOLDERS {
        trees::pages(&folder(number), "page-", each, PAGE_BYTES)?;
    }
    if std::os::unix::fs::chown(folder(0), None, Some(10_000)).is_err() {
        println!("left out: needs the right to give folders to groups");
        return Ok(Vec::new());
    }
    let first = |differ: bool| {
        for number in 0..FOLDERS {
            let group = if differ { 10_000 + number as u32 } else { 10_000 };
            std::os::unix::fs::chown(folder(number), None, Some(group))?;
            std::fs::set_permissions(folder(number), PermissionsExt::from_mode(0o750))?;
        }
        if data.exists() {
            std::fs::remove_dir_all(&data)?;
        }
        run(&sync(bench, "data", &root, "null"))
    };
    let beside = pairs(bench.pairs, || first(true), || first(false))?;
    for made in [&root, &data] {
        std::fs::remove_dir_all(made)?;
    }
    Ok(vec![Line {
        work: format!(
            "first run to `null`, {} HTML files of 20 KiB in {FOLDERS} folders of different access",
            thousands(each * FOLDERS)
        ),
        ours: figures(&middle(&beside.ours)),
        beside: format!("folders of the same access: {}", figures(&middle(&beside.floor))),
        what: "CPU",
        value: beside.ratio(cpu),
        unit: "×",
        goal: Goal::Most(1.25),
    }])
}

/// The same pages, one in a hundred of them a document of which its reader dies.
pub(super) fn crashers(bench: &Bench) -> Result<Vec<Line>> {
    let count = bench.size(20_000);
    let (with, without) = (bench.path("with"), bench.path("without"));
    for root in [&with, &without] {
        trees::pages(root, "page-", count, PAGE_BYTES)?;
    }
    trees::pages(&with, reading::CRASHER, count / 100, PAGE_BYTES)?;
    let own = std::env::current_exe()?;
    let (ours, floor) =
        (pool(&with, &own, &["reading", "child"])?, pool(&without, &own, &["reading", "child"])?);
    let beside = pairs(bench.pairs, || run(&ours), || run(&floor))?;
    for cost in &beside.ours {
        let told = told(cost)?;
        if told["lost"] != count / 100 {
            return Err(format!("{} documents were to be lost: {told}", count / 100).into());
        }
    }
    for root in [&with, &without] {
        std::fs::remove_dir_all(root)?;
    }
    let line = |what, value| Line {
        work: format!(
            "{} HTML files of 20 KiB beside {} whose reader crashes",
            thousands(count),
            count / 100
        ),
        ours: figures(&middle(&beside.ours)),
        beside: format!("without these: {}", figures(&middle(&beside.floor))),
        what,
        value,
        unit: "×",
        goal: Goal::Most(1.25),
    };
    Ok(vec![line("wall of the others", beside.ratio(wall)), line("CPU", beside.ratio(cpu))])
}

/// Malformed files, one at a time.
pub(super) fn memory(bench: &Bench) -> Result<Vec<Line>> {
    let folder = bench.path("malformed");
    let made = malformed::make(&folder, |full| bench.size(full))?;
    let usual = folder.join("usual.txt");
    std::fs::write(&usual, "a few words")?;
    let usual = told(&run(&pool(&usual, &bench.program, &["extract-worker"])?)?)?;
    let mut lines = Vec::new();
    let mut largest: f64 = 0.0;
    for (what, path) in made {
        let cost = run(&pool(&path, &bench.program, &["extract-worker"])?)?;
        let told = told(&cost)?;
        let number = |told: &serde_json::Value, name: &str| told[name].as_f64().unwrap_or_default();
        largest = largest.max(number(&told, "child_mib"));
        lines.push(Line {
            work: what,
            ours: format!(
                "CPU {:.1} s; child {:.0} MiB; {} KiB of text; {}",
                cost.cpu,
                number(&told, "child_mib"),
                number(&told, "text_bytes") as u64 >> 10,
                told["reason"].as_str().unwrap_or("whole"),
            ),
            beside: format!("a small text: {:.0} MiB", number(&usual, "own_mib")),
            what: "memory of the parent above it",
            value: number(&told, "own_mib") - number(&usual, "own_mib"),
            unit: "MiB",
            goal: Goal::Most(OWN_MIB_MAX),
        });
    }
    std::fs::remove_dir_all(&folder)?;
    lines.push(Line {
        work: "all of these".to_owned(),
        ours: "–".to_owned(),
        beside: "–".to_owned(),
        what: "memory of the child",
        value: largest,
        unit: "MiB",
        goal: Goal::Most((ingather_model::limits::EXTRACT_MEMORY_BYTES_MAX >> 20) as f64),
    });
    Ok(lines)
}
