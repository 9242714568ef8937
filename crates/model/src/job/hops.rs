//! How far from its seeds a job goes: hops of each relation, counted on the way that has fewest of them (coverage S3.268).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::limits;

/// How many hops a document may be away from the nearest seed. Nothing said: as far as links lead, and nothing is counted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Written", into = "Written")]
pub struct Hops {
    /// By relation, such as `link`: of the links of this relation on a way from a seed, the fewest; links of other relations count nothing.
    most: BTreeMap<String, u32>,
    too_far: TooFar,
}

/// What becomes of a document that outputs hold and that is too far by now, because links have changed or fewer hops are allowed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TooFar {
    /// It is taken out.
    #[default]
    Remove,
    /// It stays and is visited, as long as something leads to it. Hops are counted anew in each run, so this may be changed at any time.
    #[serde(alias = "no_delete", alias = "never_delete")]
    Keep,
}

/// How it is written.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    most: BTreeMap<String, u32>,
    #[serde(default, skip_serializing_if = "TooFar::is_usual")]
    too_far: TooFar,
}

impl TooFar {
    fn is_usual(&self) -> bool {
        *self == TooFar::default()
    }
}

impl TryFrom<Written> for Hops {
    type Error = String;

    fn try_from(Written { most, too_far }: Written) -> Result<Hops, String> {
        if most.len() > limits::RELATIONS_MAX {
            return Err(format!("hops of more than {} relations; name fewer", limits::RELATIONS_MAX));
        }
        match most.iter().find(|(_, most)| **most > limits::HOPS_MAX) {
            Some((relation, most)) => Err(format!(
                "{most} hops of `{relation}` are more than {}; leave it out to go as far as links lead",
                limits::HOPS_MAX
            )),
            None => Ok(Hops { most, too_far }),
        }
    }
}

impl From<Hops> for Written {
    fn from(Hops { most, too_far }: Hops) -> Written {
        Written { most, too_far }
    }
}

impl Hops {
    /// Whether nothing is counted.
    pub fn counts_nothing(&self) -> bool {
        self.most.is_empty()
    }

    /// Whether what is too far by now stays.
    pub fn keeps(&self) -> bool {
        self.too_far == TooFar::Keep
    }

    /// As people read it, such as `link at most 3, redirect at most 1`.
    pub fn describe(&self) -> String {
        if self.counts_nothing() {
            return "as far as links lead".to_owned();
        }
        let bounds: Vec<String> =
            self.most.iter().map(|(relation, most)| format!("{relation} at most {most}")).collect();
        let kept = if self.keeps() { "; what is too far by now stays" } else { "" };
        format!("{}{kept}", bounds.join(", "))
    }

    /// The bound of each relation that is counted, by its place among `relations`.
    ///
    /// # Errors
    /// A sentence that names a relation which is none of those.
    pub fn among(&self, relations: &[&str]) -> Result<Vec<(usize, u32)>, String> {
        let place = |(name, most): (&String, &u32)| match relations
            .iter()
            .position(|relation| relation == name)
        {
            Some(place) => Ok((place, *most)),
            None => Err(format!(
                "hops are counted by relations of the source, which has {}; `{name}` is none of them",
                relations.iter().map(|relation| format!("`{relation}`")).collect::<Vec<_>>().join(" and ")
            )),
        };
        self.most.iter().map(place).collect()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn hops_are_read_by_their_relations_and_refused_where_they_are_none() {
        let hops: Hops = serde_json::from_value(json!({"most": {"link": 3, "redirect": 1}})).unwrap();
        assert!(!hops.counts_nothing() && !hops.keeps());
        assert_eq!(hops.among(&["link", "redirect"]), Ok(vec![(0, 3), (1, 1)]));
        assert_eq!(hops.describe(), "link at most 3, redirect at most 1");
        assert_eq!(Hops::default().describe(), "as far as links lead");
        let refused = hops.among(&["link"]).unwrap_err();
        assert!(refused.contains("`redirect` is none of them"), "{refused}");
        assert_eq!(serde_json::to_value(&hops).unwrap(), json!({"most": {"link": 3, "redirect": 1}}));
        for word in ["keep", "no_delete", "never_delete"] {
            let hops: Hops = serde_json::from_value(json!({"most": {"link": 3}, "too_far": word})).unwrap();
            assert!(hops.keeps(), "{word}");
        }
        assert!(serde_json::from_value::<Hops>(json!({"most": {"link": 1_000_000}})).is_err());
        assert!(serde_json::from_value::<Hops>(json!({"most": {"link": 1}, "mode": "x"})).is_err());
        assert!(Hops::default().counts_nothing());
    }
}
