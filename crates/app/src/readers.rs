//! The processes that read files for this program: whether one can be started, and what holds it.

use ingather_operations::system::Look;

use crate::show;

/// What holds the processes that read files: one is started and reads a line.
pub(crate) fn check() -> Look {
    let advice = "files other than plain text are then found by their names alone: check that this program can be run \
                  again from where it lies";
    let started = ingather_extract::Settings::of_this_program(1).and_then(|settings| {
        let pool = ingather_extract::Pool::new(settings);
        let request = ingather_extract::Request { name: "a.html".to_owned(), ..Default::default() };
        let read = pool.extract(&request, &mut "<p>a line".as_bytes())?;
        Ok((read, pool.in_force()))
    });
    let (read, in_force) = match started {
        Ok((read, Some(in_force))) => (read, in_force),
        Ok((read, None)) => {
            let why = read.reason.unwrap_or_default();
            return Look::bad(
                "readers",
                format!("no process that reads files can be started: {why}"),
                advice,
            );
        }
        Err(error) => {
            return Look::bad(
                "readers",
                format!("no process that reads files can be started: {error}"),
                advice,
            );
        }
    };
    if read.text != "a line" {
        let why = read.reason.unwrap_or_else(|| "it gave no text".to_owned());
        return Look::bad("readers", format!("a process that reads files cannot read: {why}"), advice);
    }
    let word = |holds: bool| if holds { "yes" } else { "no" };
    let sentence = format!(
        "files are read by processes held by Landlock ({}), seccomp ({}), no new privileges ({}), no capabilities ({}), {} \
         of memory",
        in_force.landlock,
        word(in_force.seccomp),
        word(in_force.no_new_privileges),
        word(in_force.no_capabilities),
        show::bytes(in_force.memory_bytes)
    );
    if in_force.is_whole() {
        return Look::good("readers", sentence);
    }
    Look::bad(
        "readers",
        sentence,
        "use a kernel with Landlock and seccomp, Linux 5.13 or later, for files from strangers",
    )
}
