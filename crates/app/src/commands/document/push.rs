//! `ingather push`: records that applications push.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use ingather_model::job::RunKind;
use ingather_model::limits;
use ingather_model::run_counts::counted;
use ingather_operations::documents::push::{
    self, BeginDeltaRun, DeltaMode, FinishDeltaRun, OpenedDeltaRun, PushRecords, PushResult, RollBackDeltaRun,
};
use ingather_operations::jobs::{self, DefineJob, ShowJob, StartJob};
use ingather_operations::pipeline::GivenOutput;
use serde::Serialize;
use serde_json::{Value, json};

use crate::arguments::{Global, Push};
use crate::exit::{self, Code, Failure, Result};
use crate::show;
use crate::wiring::{Program, caller};

/// Lines that are told one by one; of the others their number is.
const TOLD_MAX: u64 = 10;

/// What became of the lines of the files.
#[derive(Debug, Default, Serialize)]
struct Told {
    source: String,
    pending: u64,
    unchanged: u64,
    refused: u64,
    deleted: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    veto: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    held: Option<u64>,
    failed: u64,
}

/// One push of files into a source.
struct Pushing<'p> {
    program: &'p Program<'p>,
    run: Option<OpenedDeltaRun>,
    told: Told,
    /// Records that are to be sent, their bytes, and the line of each.
    batch: Vec<Value>,
    bytes: usize,
    lines: Vec<u64>,
}

pub(crate) fn run(global: &Global, push: Push) -> Result<u8> {
    let program = Program::of(global)?;
    make(&program, &push)?;
    let run = push.full.then(|| begin(&program, &push.source)).transpose()?;
    let mut pushing = Pushing {
        program: &program,
        run,
        told: Told { source: push.source.clone(), ..Told::default() },
        batch: Vec::new(),
        bytes: 0,
        lines: Vec::new(),
    };
    let pushed = push.files.iter().try_for_each(|file| pushing.file(file));
    if let Err(failure) = pushed.and_then(|()| pushing.send()) {
        // Nobody else waits for the lease of this run to pass.
        pushing.give_up();
        // What was taken before stays so, and is delivered; the failure is the one to tell.
        let _delivered = pushing.deliver();
        return Err(failure);
    }
    if push.full && pushing.is_empty() && !push.confirm {
        pushing.give_up();
        let sentence = "the files have no record at all: nothing was deleted; add --confirm where the source is really empty";
        return Err(Failure::usage(sentence));
    }
    pushing.finish(push.confirm)?;
    if let Err(failure) = pushing.deliver() {
        pushing.tell(global);
        return Err(failure);
    }
    Ok(pushing.tell(global))
}

/// The source, where it is not there yet.
fn make(program: &Program<'_>, push: &Push) -> Result<()> {
    let name = push.source.as_str();
    let says_nothing_of_it = push.to.is_empty() && push.access.is_empty() && push.address_prefix.is_empty();
    match jobs::SHOW.call(&program.context(), &caller(), ShowJob { job: name.to_owned() }) {
        Ok(_) if says_nothing_of_it => return Ok(()),
        Ok(_) => {
            let sentence = format!(
                "source {name} is there; --to, --access and --address-prefix are for new ones: `ingather job define push:{name} --update` changes it"
            );
            return Err(Failure::usage(sentence));
        }
        // Whoever may only push is told with the first records whether it is there.
        Err(failure) if failure.code == Code::Forbidden && says_nothing_of_it => return Ok(()),
        Err(failure) if failure.code == Code::Forbidden => {
            let sentence = "--to, --access and --address-prefix are for new sources, and this API key may make none; leave them out, and give records their own `access`";
            return Err(Failure::usage(sentence));
        }
        Err(failure) if matches!(failure.code, Code::NoSuchJob | Code::NothingYet) => {}
        Err(failure) => return Err(failure),
    }
    let mut source = serde_json::Map::new();
    if !push.access.is_empty() {
        source.insert("access".to_owned(), json!(push.access));
    }
    if !push.address_prefix.is_empty() {
        source.insert("address_prefixes".to_owned(), json!(push.address_prefix));
    }
    let outputs: Vec<GivenOutput> = push.to.iter().cloned().map(GivenOutput::Name).collect();
    let define = DefineJob {
        root: format!("push:{name}"),
        name: Some(name.to_owned()),
        source,
        outputs: (!outputs.is_empty()).then_some(outputs),
        schedule: Some(json!("continuous")),
        ..DefineJob::default()
    };
    jobs::DEFINE.call(&program.context(), &caller(), define)?;
    if !program.global.quiet && !program.global.json {
        let seen = match push.access.is_empty() {
            true => {
                "; nobody sees records that do not say who may: give them `access`, or make the source with --access"
            }
            false => "",
        };
        show::stderr(&format!("source {name} is made{seen}"));
    }
    Ok(())
}

fn begin(program: &Program<'_>, source: &str) -> Result<OpenedDeltaRun> {
    let request = BeginDeltaRun {
        of: None,
        source: source.to_owned(),
        mode: DeltaMode::Full,
        client: Some("ingather push".to_owned()),
        lease_seconds: None,
    };
    push::BEGIN.call(&program.context(), &caller(), request)
}

/// How UTF-8 is marked at the beginning of a file.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

impl Pushing<'_> {
    /// Whether no record was read.
    fn is_empty(&self) -> bool {
        self.told.pending + self.told.unchanged + self.told.refused == 0
    }

    fn file(&mut self, file: &Path) -> Result<()> {
        let reader: Box<dyn Read> = match file == Path::new("-") {
            true => Box::new(std::io::stdin()),
            false => Box::new(File::open(file).map_err(|error| Failure::of_path(file, &error))?),
        };
        let mut reader = BufReader::new(reader);
        let mut number = 0;
        loop {
            number += 1;
            let mut line = Vec::new();
            let most = limits::RECORDS_BYTES_MAX as u64 + 1;
            let read = reader.by_ref().take(most).read_until(b'\n', &mut line);
            let read = read.map_err(|error| Failure::of_path(file, &error))?;
            if read == 0 {
                return Ok(());
            }
            if read as u64 == most {
                let sentence = format!(
                    "{}: line {number} is longer than {} bytes; a record has at most {} of content",
                    file.display(),
                    limits::RECORDS_BYTES_MAX,
                    limits::RECORD_CONTENT_BYTES_MAX
                );
                return Err(Failure::usage(sentence));
            }
            // Some programs begin a text with the mark of its encoding.
            let line = if number == 1 { line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(&line) } else { &line };
            if !line.iter().all(u8::is_ascii_whitespace) {
                self.line(file, number, line)?;
            }
        }
    }

    fn line(&mut self, file: &Path, number: u64, line: &[u8]) -> Result<()> {
        let item: Value = serde_json::from_slice(line).map_err(|error| {
            // A delta run does not know which record that was: it deletes nothing.
            let taken = counted(self.told.pending, "record");
            Failure::usage(format!(
                "{}: line {number} is no JSON, at character {}; {taken} before it were taken: correct it, and push the file again",
                file.display(),
                error.column()
            ))
        })?;
        // What is sent is written anew, and is little longer than what was read.
        let bytes = line.len() * 2 + 64;
        if self.batch.len() >= limits::RECORDS_AT_ONCE_MAX || self.bytes + bytes > limits::RECORDS_BYTES_MAX {
            self.send()?;
        }
        self.bytes += bytes;
        self.batch.push(item);
        self.lines.push(number);
        Ok(())
    }

    fn send(&mut self) -> Result<()> {
        let (records, lines) = (std::mem::take(&mut self.batch), std::mem::take(&mut self.lines));
        self.bytes = 0;
        if records.is_empty() {
            return Ok(());
        }
        let request = PushRecords {
            source: self.told.source.clone(),
            run: self.run.as_ref().map(|run| run.run),
            token: self.run.as_ref().map(|run| run.token.clone()),
            records,
        };
        let pushed = push::RECORDS.call(&self.program.context(), &caller(), request)?;
        for (result, line) in pushed.results.into_iter().zip(lines) {
            match result {
                PushResult::Pending { .. } | PushResult::Completed { .. } => self.told.pending += 1,
                PushResult::Unchanged => self.told.unchanged += 1,
                PushResult::Refused { message, .. } => {
                    self.told.refused += 1;
                    if self.told.refused <= TOLD_MAX {
                        show::stderr(&format!("line {line} is refused: {message}"));
                    }
                }
            }
        }
        Ok(())
    }

    fn give_up(&self) {
        let Some(run) = &self.run else { return };
        let request =
            RollBackDeltaRun { source: self.told.source.clone(), run: run.run, token: run.token.clone() };
        // The failure that led here is the one to tell.
        let _given_up = push::ROLL_BACK.call(&self.program.context(), &caller(), request);
    }

    fn finish(&mut self, confirm: bool) -> Result<()> {
        let Some(run) = &self.run else { return Ok(()) };
        let request = FinishDeltaRun {
            source: self.told.source.clone(),
            run: run.run,
            token: run.token.clone(),
            complete: true,
            confirm,
        };
        let ended = push::FINISH.call(&self.program.context(), &caller(), request)?;
        self.told.deleted = ended.deleted;
        self.told.veto = ended.veto;
        if let Some(held) = ended.held {
            self.told.held = Some(held.obsolete);
            self.give_up();
        }
        Ok(())
    }

    /// Without a service nobody else delivers what was pushed.
    fn deliver(&mut self) -> Result<()> {
        let context = self.program.context();
        if context.remote.is_some() {
            return Ok(());
        }
        let start = StartJob {
            job: self.told.source.clone(),
            mode: RunKind::Minimal,
            guard_off: false,
            accepts_devices: false,
            rereads: false,
        };
        let started = jobs::START.call(&context, &caller(), start)?;
        if let Some(ended) = started.ended {
            self.told.failed = ended.line.failed + ended.line.waiting;
            if let Some(error) = ended.error {
                return Err(Failure::unable(error));
            }
        }
        Ok(())
    }

    fn tell(&self, global: &Global) -> u8 {
        let told = &self.told;
        if global.json {
            show::answer(told);
        } else if !global.quiet {
            let mut words = vec![format!("{} taken", counted(told.pending, "record"))];
            let mut add = |count: u64, word: &str| {
                if count > 0 {
                    words.push(format!("{} {word}", ingather_model::run_counts::number(count)));
                }
            };
            add(told.unchanged, "unchanged");
            add(told.refused, "refused");
            add(told.deleted, "deleted, for they are not in the files");
            add(told.failed, "not delivered yet, or failed");
            show::line(&format!("{}: {}", told.source, words.join(", ")));
            if let Some(veto) = &told.veto {
                show::stderr(&format!("nothing was deleted: {veto}"));
            }
            if let Some(held) = told.held {
                show::stderr(&format!(
                    "{} not in the files, which is most of the source: nothing was deleted; push again with --confirm where that is right",
                    counted(held, "record")
                ));
            }
        }
        let failed = told.refused + told.failed > 0 || told.held.is_some() || told.veto.is_some();
        if failed { exit::HAS_FAILURES } else { exit::DONE }
    }
}
