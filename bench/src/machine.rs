//! Facts of the machine that stand beside the figures.

/// One sentence: processors, memory, system, load, versions.
pub(crate) fn facts(pairs: usize) -> String {
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let after = |text: &str, name: &str| {
        let line = text.lines().find(|line| line.starts_with(name)).unwrap_or_default();
        line.split_once(':').map_or(String::new(), |(_, value)| value.trim().to_owned())
    };
    let processor = after(&read("/proc/cpuinfo"), "model name");
    let memory = after(&read("/proc/meminfo"), "MemTotal");
    let gib = memory.split(' ').next().and_then(|kib| kib.parse::<f64>().ok()).unwrap_or(0.0) / 1_048_576.0;
    let system = read("/proc/sys/kernel/osrelease").trim().to_owned();
    let load = read("/proc/loadavg").split(' ').take(3).collect::<Vec<_>>().join(" ");
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    format!(
        "Machine: {cores} cores ({processor}), {gib:.0} GiB, Linux {system}; load average at the end {load}. \
         Medians of {pairs} alternating pairs unless a row says otherwise."
    )
}
