//! The tables of expectations as they are written: for each state of a job how it comes about, and what each event leads to.

/// One state of a job.
pub(crate) struct State {
    /// Its name.
    pub(crate) name: String,
    /// What brings a job into it.
    pub(crate) made_by: Vec<String>,
    /// The events, in order; the first one is that nothing happens.
    pub(crate) rows: Vec<Row>,
}

/// What one event leads to.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    /// The event.
    pub(crate) event: String,
    /// What whoever asked is answered.
    pub(crate) answer: String,
    /// How the job stands at once, while what was held stays so.
    pub(crate) now: String,
    /// How it stands when nothing more happens by itself.
    pub(crate) then: String,
    /// Its runs but for the first one, what the output holds, and what was sent since, when nobody keeps it from going on any more.
    pub(crate) end: [String; 3],
}

/// Reads the states of a table. A line is `event, event | answer | now | then | runs | entries | sent`; what is left out at its end, or
/// is a `"`, is as where nothing happens.
pub(crate) fn read(text: &str) -> Vec<State> {
    let mut states: Vec<State> = Vec::new();
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')) {
        if let Some(head) = line.strip_prefix("state ") {
            let (name, made_by) = head.split_once(": ").unwrap();
            let made_by = made_by.split("; ").map(str::to_owned).collect();
            states.push(State { name: name.to_owned(), made_by, rows: Vec::new() });
            continue;
        }
        let state = states.last_mut().unwrap();
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        assert!((2..=7).contains(&cells.len()), "{}: {line}", state.name);
        let undisturbed = state.rows.first().cloned();
        let cell = |n: usize, otherwise: fn(&Row) -> &String| match (cells.get(n), &undisturbed) {
            (None | Some(&"\""), Some(row)) => otherwise(row).clone(),
            (found, _) => (*found.unwrap_or_else(|| panic!("{line}: the first line has all"))).to_owned(),
        };
        for event in cells[0].split(", ") {
            state.rows.push(Row {
                event: event.to_owned(),
                answer: cells[1].to_owned(),
                now: cell(2, |row| &row.now),
                then: cell(3, |row| &row.then),
                end: [cell(4, |row| &row.end[0]), cell(5, |row| &row.end[1]), cell(6, |row| &row.end[2])],
            });
        }
    }
    states
}
