//! Measuring whole processes: processor time, wall time and peak memory of a child, alternating pairs, medians.

use std::ffi::OsString;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use nix::sys::resource::{UsageWho, getrusage};
use serde_json::json;

use crate::Result;

/// What one run of a command took.
#[derive(Clone, Debug, Default)]
pub(crate) struct Cost {
    /// User and system time, seconds.
    pub(crate) cpu: f64,
    /// Seconds from start to end.
    pub(crate) wall: f64,
    /// Peak resident memory, MiB.
    pub(crate) memory: f64,
    /// What it printed.
    pub(crate) out: String,
}

/// A command line, put together word by word.
#[derive(Clone, Debug)]
pub(crate) struct Line(pub(crate) Vec<OsString>);

impl Line {
    /// A line that begins with a program.
    pub(crate) fn new(program: impl Into<OsString>) -> Line {
        Line(vec![program.into()])
    }

    /// The line with more words.
    pub(crate) fn and(mut self, words: impl IntoIterator<Item = impl Into<OsString>>) -> Line {
        self.0.extend(words.into_iter().map(Into::into));
        self
    }
}

/// Runs a command to its end; the exit code 1 (something is left to do) counts as an end.
pub(crate) fn run(line: &Line) -> Result<Cost> {
    run_until(line, None)
}

/// Runs a command, and kills it once it has used so many seconds of processor time.
pub(crate) fn run_until(line: &Line, cpu_max: Option<f64>) -> Result<Cost> {
    let report = tempfile::NamedTempFile::new()?;
    let own = std::env::current_exe()?;
    let limit = cpu_max.map_or("-".to_owned(), |seconds| seconds.to_string());
    // A process of its own stands between, so that its children are this one command, and its memory is small.
    let output = Command::new(own)
        .args(["measure".into(), report.path().as_os_str().to_owned(), OsString::from(limit)])
        .args(&line.0)
        .stdin(Stdio::null())
        .stderr(Stdio::piped())
        .output()?;
    let told = std::fs::read_to_string(report.path())?;
    let told: serde_json::Value = serde_json::from_str(&told).map_err(|error| {
        format!("{:?} could not be measured: {error}; {}", line.0, String::from_utf8_lossy(&output.stderr))
    })?;
    let code = told["code"].as_i64();
    if cpu_max.is_none() && !matches!(code, Some(0 | 1)) {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(format!("{:?} ended with {code:?}: {said}", line.0).into());
    }
    let number = |name: &str| told[name].as_f64().unwrap_or_default();
    Ok(Cost {
        cpu: number("cpu"),
        wall: number("wall"),
        memory: number("memory"),
        out: String::from_utf8_lossy(&output.stdout).into_owned(),
    })
}

/// The process that stands between: starts the command, waits for it, writes what it took.
pub(crate) fn stand_between(report: &Path, limit: &str, command: &[String]) -> Result<()> {
    let limit: Option<f64> = limit.parse().ok();
    let start = Instant::now();
    let mut child = Command::new(&command[0]).args(&command[1..]).spawn()?;
    if let Some(limit) = limit {
        while child.try_wait()?.is_none() {
            if used(child.id()).is_some_and(|seconds| seconds >= limit) {
                child.kill()?;
                break;
            }
            pause(Duration::from_millis(2));
        }
    }
    let status = child.wait()?;
    let wall = start.elapsed().as_secs_f64();
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN)?;
    let seconds = |time: nix::sys::time::TimeVal| time.tv_sec() as f64 + time.tv_usec() as f64 / 1e6;
    let cpu = seconds(usage.user_time()) + seconds(usage.system_time());
    let memory = usage.max_rss() as f64 / 1024.0;
    let told = json!({"cpu": cpu, "wall": wall, "memory": memory, "code": status.code()});
    std::fs::write(report, told.to_string())?;
    Ok(())
}

/// Waits: for what gives no sign when it is there.
#[expect(clippy::disallowed_methods, reason = "a bench looks on from outside and may lose a moment")]
pub(crate) fn pause(time: Duration) {
    std::thread::sleep(time);
}

/// Processor time of a process that lives, seconds; the kernel counts it in hundredths.
pub(crate) fn used(pid: u32) -> Option<f64> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let after_name = text.rsplit(") ").next()?;
    let ticks: f64 = after_name.split(' ').skip(11).take(2).filter_map(|word| word.parse::<f64>().ok()).sum();
    Some(ticks / 100.0)
}

/// Lets as many threads as there are parts work at once, each with its own; the first that fails says so.
pub(crate) fn at_once<T: Send>(
    parts: Vec<T>,
    work: impl Fn(T) -> std::result::Result<(), String> + Sync,
) -> Result<()> {
    let work = &work;
    std::thread::scope(|scope| {
        let threads: Vec<_> = parts.into_iter().map(|part| scope.spawn(move || work(part))).collect();
        let ends = |thread: std::thread::ScopedJoinHandle<'_, _>| {
            thread.join().map_err(|_| "a thread panicked".to_owned())?
        };
        Ok(threads.into_iter().try_for_each(ends)?)
    })
}

/// Two commands that took turns.
#[derive(Debug, Default)]
pub(crate) struct Pairs {
    pub(crate) ours: Vec<Cost>,
    pub(crate) floor: Vec<Cost>,
}

/// Runs two commands in turn, so that a busy machine slows both.
pub(crate) fn pairs(
    count: usize,
    mut ours: impl FnMut() -> Result<Cost>,
    mut floor: impl FnMut() -> Result<Cost>,
) -> Result<Pairs> {
    let mut pairs = Pairs::default();
    for _ in 0..count {
        pairs.ours.push(ours()?);
        pairs.floor.push(floor()?);
    }
    Ok(pairs)
}

impl Pairs {
    /// Median over the pairs of ours by theirs.
    pub(crate) fn ratio(&self, figure: fn(&Cost) -> f64) -> f64 {
        self.each(|ours, floor| figure(ours) / figure(floor).max(1e-9))
    }

    /// Median over the pairs of any figure.
    pub(crate) fn each(&self, figure: impl Fn(&Cost, &Cost) -> f64) -> f64 {
        median(self.ours.iter().zip(&self.floor).map(|(ours, floor)| figure(ours, floor)))
    }
}

/// The middle of some figures.
pub(crate) fn median(figures: impl IntoIterator<Item = f64>) -> f64 {
    let mut figures: Vec<f64> = figures.into_iter().collect();
    figures.sort_by(f64::total_cmp);
    let middle = figures.len() / 2;
    match figures.len() {
        0 => f64::NAN,
        count if count % 2 == 1 => figures[middle],
        _ => f64::midpoint(figures[middle - 1], figures[middle]),
    }
}

/// The median costs of some runs.
pub(crate) fn middle(costs: &[Cost]) -> Cost {
    let of = |figure: fn(&Cost) -> f64| median(costs.iter().map(figure));
    Cost { cpu: of(cpu), wall: of(wall), memory: of(|cost| cost.memory), out: String::new() }
}

/// Processor time, for [`Pairs::ratio`].
pub(crate) fn cpu(cost: &Cost) -> f64 {
    cost.cpu
}

/// Wall time, for [`Pairs::ratio`].
pub(crate) fn wall(cost: &Cost) -> f64 {
    cost.wall
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_the_middle_or_between_the_middles() {
        assert_eq!(median([3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median([4.0, 1.0, 2.0, 3.0]), 2.5);
        assert!(median([]).is_nan());
    }

    #[test]
    fn a_ratio_is_taken_pair_by_pair() {
        let cost = |cpu| Cost { cpu, ..Cost::default() };
        let pairs = Pairs {
            ours: vec![cost(2.0), cost(20.0), cost(9.0)],
            floor: vec![cost(1.0), cost(10.0), cost(3.0)],
        };
        assert_eq!(pairs.ratio(cpu), 2.0);
    }
}
