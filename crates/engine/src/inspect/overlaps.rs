//! Jobs that send the same documents to the same output, each in its own form: the one that sent last is what is found.

use ingather_store::connections::{self, Role};
use ingather_store::jobs::{self, Job};
use ingather_store::{Sql, StoreError, deliveries};

/// Documents of one job that an output holds as another job sent them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Overlap {
    /// The job whose version is not the one that is held.
    pub job: String,
    /// The job that sent last.
    pub other: String,
    /// The output.
    pub output: String,
    /// How many documents.
    pub documents: u64,
}

/// The overlaps of a job with others, in either direction. Only jobs whose addresses begin the same can have some: where one of them was moved,
/// that is not where its source is.
///
/// # Errors
/// What the store says.
pub fn of_job(sql: &mut Sql<'_>, job: &Job) -> Result<Vec<Overlap>, StoreError> {
    let mut found = Vec::new();
    for other in jobs::list(sql)? {
        let near = other.repository == job.repository
            && (below(addresses(job), addresses(&other)) || below(addresses(&other), addresses(job)));
        if other.id == job.id || !near {
            continue;
        }
        for output in job.definition.outputs.iter().filter(|name| other.definition.outputs.contains(name)) {
            let Some(connection) = connections::find(sql, Role::Output, output)? else { continue };
            for (loser, winner) in [(job, &other), (&other, job)] {
                let documents = deliveries::superseded(sql, connection.id, loser.id, winner.id)?;
                if documents > 0 {
                    let (job, other) = (loser.name.clone(), winner.name.clone());
                    found.push(Overlap { job, other, output: output.clone(), documents });
                }
            }
        }
    }
    Ok(found)
}

fn addresses(job: &Job) -> &str {
    job.definition.addresses().unwrap_or(&job.root)
}

fn below(root: &str, above: &str) -> bool {
    root.strip_prefix(above)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('/') || above.ends_with('/'))
}

#[cfg(test)]
mod tests {
    use super::below;

    #[test]
    fn a_source_lies_in_another_only_at_a_whole_name() {
        assert!(below("/srv/a", "/srv/a") && below("/srv/a/b", "/srv/a") && below("/srv", "/"));
        assert!(!below("/srv/ab", "/srv/a") && !below("/srv", "/srv/a"));
    }
}
