//! table: properties of ManifoldCF that this program takes as second names of its settings, or takes and says to have no effect here, so that
//! whoever brings a command line along is told what became of it (S3.136, S3.179, S3.198, S3.217, S3.264).

use std::fmt::Write as _;

use ingather_model::limits;

use crate::problem::{Problem, Result};

/// A property of ManifoldCF.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Property {
    /// Its name there.
    pub name: &'static str,
    /// Its default there.
    pub default: &'static str,
    /// What it is here.
    pub here: Here,
    /// What it means here, in a sentence.
    pub means: &'static str,
}

/// What a property is here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Here {
    /// A second name of `--threads`.
    Threads,
    /// Nothing: the reason, as the end of a sentence.
    Nothing(&'static str),
}

/// What leaves an index has one way.
const ONE_WAY: &str =
    "removals of every kind go in the batches of their output, which the one thread of that output sends";
/// Who asks an authority.
const BY_ITSELF: &str = "each search asks the authority in the thread that answers it";

/// All of them.
pub static PROPERTIES: &[Property] = &[
    Property {
        name: "org.apache.manifoldcf.crawler.threads",
        default: "none; the example has 30",
        here: Here::Threads,
        means: "Threads that list and read. All runs of a process share them, and each run has one more of its own.",
    },
    Property {
        name: "org.apache.manifoldcf.crawler.expirethreads",
        default: "10",
        here: Here::Nothing(ONE_WAY),
        means: "Nothing expires by threads of its own: what leaves goes in the batches of its output, as every change does.",
    },
    Property {
        name: "org.apache.manifoldcf.crawler.cleanupthreads",
        default: "10",
        here: Here::Nothing(ONE_WAY),
        means: "What a run has not met is judged at its end, and removed in the batches of its output.",
    },
    Property {
        name: "org.apache.manifoldcf.crawler.deletethreads",
        default: "10",
        here: Here::Nothing(ONE_WAY),
        means: "When a job is deleted, one thread walks what it holds, and the batches of its outputs remove it.",
    },
    Property {
        name: "org.apache.manifoldcf.authorityservice.threads",
        default: "10",
        here: Here::Nothing(BY_ITSELF),
        means: "There is no pool: each search asks in the thread that answers it, within the bound of the service for requests at once.",
    },
];

/// What properties that were given come to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Given {
    /// Threads that list and read.
    pub threads: Option<u32>,
    /// Properties that have no effect here, and why, in one sentence.
    pub notice: Option<String>,
}

/// Reads properties, each as `NAME=VALUE`.
///
/// # Errors
/// `WrongUse` for a property that is not in the table, with the nearest one; for one that is given twice, and for a number out of its bounds:
/// also where it has no effect, for it was meant as something.
pub fn given(words: &[String]) -> Result<Given> {
    let mut known: Vec<(&Property, u32)> = Vec::new();
    for word in words {
        let (name, value) = word.split_once('=').ok_or_else(|| {
            Problem::usage(format!("the property `{word}` has no value; write it as NAME=VALUE"))
        })?;
        let property = named(name)?;
        if known.iter().any(|(other, _)| other.name == name) {
            return Err(Problem::usage(format!("the property {name} is given twice; give it once")));
        }
        let most = limits::THREADS_MAX;
        let number = value.parse().ok().filter(|number| (1..=most).contains(number));
        let number = number.ok_or_else(|| {
            Problem::usage(format!(
                "the property {name} cannot be `{value}`: it must be a whole number from 1 to {most}"
            ))
        })?;
        known.push((property, number));
    }
    let threads =
        known.iter().find(|(property, _)| property.here == Here::Threads).map(|(_, number)| *number);
    let without = known.iter().filter_map(|(property, _)| match property.here {
        Here::Nothing(why) => Some((property.name, why)),
        Here::Threads => None,
    });
    Ok(Given { threads, notice: notice(&without.collect::<Vec<_>>()) })
}

fn named(name: &str) -> Result<&'static Property> {
    if let Some(property) = PROPERTIES.iter().find(|property| property.name == name) {
        return Ok(property);
    }
    let nearest = PROPERTIES.iter().min_by_key(|property| strsim::levenshtein(property.name, name));
    let nearest =
        nearest.map_or_else(String::new, |property| format!("; the nearest one is {}", property.name));
    Err(Problem::usage(format!(
        "the property `{name}` is none that this program takes{nearest}; docs/generated/properties.md has all of them"
    )))
}

/// One sentence, whatever number of properties have no effect: each reason once.
fn notice(without: &[(&str, &str)]) -> Option<String> {
    let mut reasons: Vec<(&str, Vec<&str>)> = Vec::new();
    for (name, why) in without {
        match reasons.iter_mut().find(|(known, _)| known == why) {
            Some((_, names)) => names.push(name),
            None => reasons.push((why, vec![name])),
        }
    }
    let told = reasons.iter().map(|(why, names)| format!("{} ({why})", names.join(", ")));
    let told = told.collect::<Vec<_>>().join(" and ");
    (!told.is_empty()).then(|| {
        format!(
            "without effect here: {told}; leave it out, --threads alone says how many threads list and read"
        )
    })
}

/// The table as a page of the manual.
pub fn markdown() -> String {
    let mut page = format!(
        "# Properties of ManifoldCF\n\n\
         ManifoldCF takes its numbers of threads from `properties.xml`, or from `-D` on the command line of Java. `ingather sync` and \
         `ingather serve` take them as `-D NAME=VALUE`: one that means a setting of this program is a second name of it, and one that has nothing \
         to set here is checked, and named in one notice that says why it has no effect. Values are whole numbers from 1 to {}. Another property \
         is refused, with the nearest one that is known; so is one that is given twice, or beside the setting that it names.\n\n\
         ```\n$ ingather serve -D org.apache.manifoldcf.crawler.threads=30\n```\n\n\
         | Property | Default there | Here | What it means here |\n|---|---|---|---|\n",
        limits::THREADS_MAX
    );
    for property in PROPERTIES {
        let here = match property.here {
            Here::Threads => "`--threads`",
            Here::Nothing(_) => "no effect",
        };
        // Writing to a text never fails.
        let _ =
            writeln!(page, "| `{}` | {} | {here} | {} |", property.name, property.default, property.means);
    }
    page
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(words: &[&str]) -> Result<Given> {
        given(&words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn each_property_is_a_second_name_or_has_a_reason_and_reasons_are_told_once() {
        let all: Vec<String> = PROPERTIES.iter().map(|property| format!("{}=7", property.name)).collect();
        let read = given(&all).expect("all are known");
        assert_eq!(read.threads, Some(7));
        let notice = read.notice.expect("most have no effect");
        for property in PROPERTIES {
            assert_eq!(notice.contains(property.name), property.here != Here::Threads, "{notice}");
        }
        assert_eq!((notice.matches(ONE_WAY).count(), notice.matches(BY_ITSELF).count()), (1, 1), "{notice}");
        assert_eq!(of(&["org.apache.manifoldcf.crawler.threads=256"]).expect("known").notice, None);
    }

    #[test]
    fn the_nearest_property_is_named_for_one_that_is_not_known() {
        for property in PROPERTIES {
            let slip = format!("{}s=1", property.name);
            let said = of(&[&slip]).expect_err("a slip").to_string();
            assert!(said.contains(&format!("the nearest one is {};", property.name)), "{said}");
        }
    }
}
