//! Mapping of names: how an authority spells the name that somebody is asked for by.

use ingather_model::access::authority::{LetterCase, MappingRule};
use ingather_model::limits;
use regex::{Regex, RegexBuilder};

/// The rules of one authority, ready.
pub(super) struct Mapping(Vec<(Regex, MappingRule)>);

impl Mapping {
    /// Reads rules.
    ///
    /// # Errors
    /// A sentence that names the rule by its number and says what it lacks.
    pub(super) fn of(rules: &[MappingRule]) -> Result<Mapping, String> {
        if rules.len() > limits::MAPPING_RULES_MAX {
            return Err(format!("a mapping has at most {} rules", limits::MAPPING_RULES_MAX));
        }
        let one = |(at, rule): (usize, &MappingRule)| {
            let number = at + 1;
            if rule.pattern.len().max(rule.name.len()) > limits::MAPPING_BYTES_MAX {
                return Err(format!("rule {number} is longer than {} bytes", limits::MAPPING_BYTES_MAX));
            }
            // It has to fit the whole name: a part of it may be somebody else's.
            let whole = format!(r"\A(?:{})\z", rule.pattern);
            let pattern = RegexBuilder::new(&whole).size_limit(limits::MAPPING_MEMORY_MAX).build();
            let pattern = pattern.map_err(|error| {
                let said = error.to_string();
                let why = said.lines().last().unwrap_or_default().trim_start_matches("error: ").to_owned();
                format!("the pattern of rule {number} is no regular expression: {why}")
            })?;
            Ok((pattern, rule.clone()))
        };
        rules.iter().enumerate().map(one).collect::<Result<_, _>>().map(Mapping)
    }

    /// The name there; none where a rule does not fit, or makes a name of nobody.
    pub(super) fn of_name(&self, name: &str) -> Option<String> {
        let mut name = name.to_owned();
        for (pattern, rule) in &self.0 {
            let found = pattern.captures(&name)?;
            let mut made = String::new();
            found.expand(&rule.name, &mut made);
            name = match rule.case {
                LetterCase::Kept => made,
                LetterCase::Lower => made.to_lowercase(),
                LetterCase::Upper => made.to_uppercase(),
            };
            // A name that a rule made long without bound ends here.
            if name.len() > limits::USER_NAME_BYTES_MAX {
                return None;
            }
        }
        (!name.is_empty()).then_some(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mapping(rules: &[(&str, &str, LetterCase)]) -> Result<Mapping, String> {
        let rule = |(pattern, name, case): &(&str, &str, LetterCase)| MappingRule {
            pattern: (*pattern).to_owned(),
            name: (*name).to_owned(),
            case: *case,
        };
        Mapping::of(&rules.iter().map(rule).collect::<Vec<_>>())
    }

    #[test]
    fn rules_follow_each_other_and_each_has_to_fit_the_whole_name() {
        use LetterCase::{Kept, Lower, Upper};
        for (rules, name, spelled) in [
            (&[] as &[_], "ann", Some("ann")),
            (&[("(.*)", "$1", Upper)], "ann", Some("ANN")),
            (&[(r"ACME\\(.+)", "$1@acme.example", Lower)], r"ACME\Ann", Some("ann@acme.example")),
            (&[(r"ACME\\(.+)", "$1", Kept)], r"xACME\ann", None),
            (&[(r"(?<first>\w)\w*\.(?<last>\w+)", "${first}${last}", Kept)], "ann.lee", Some("alee")),
            (&[("(.+)@acme", "$1", Kept), ("a(.*)", "$1", Kept)], "ann@acme", Some("nn")),
            (&[("(.+)@acme", "$1", Kept), ("b(.*)", "$1", Kept)], "ann@acme", None),
            (&[("ann", "", Kept)], "ann", None),
            (&[("ann", "$9", Kept)], "ann", None),
            (&[("ann", "$$1", Kept)], "ann", Some("$1")),
            (&[("ann|bob", "$0", Kept)], "bobx", None),
            (&[("ann", "ann", Kept)], "ann\n", None),
        ] {
            assert_eq!(mapping(rules).unwrap().of_name(name).as_deref(), spelled, "{rules:?} of {name:?}");
        }
        let long = "x".repeat(limits::USER_NAME_BYTES_MAX);
        assert_eq!(mapping(&[("(.+)", "$1$1", Kept)]).unwrap().of_name(&long), None);
    }

    #[test]
    fn a_rule_that_cannot_work_is_named() {
        use LetterCase::Kept;
        let said = mapping(&[("a", "b", Kept), ("(", "$1", Kept)]).err().unwrap();
        assert!(said.starts_with("the pattern of rule 2 is no regular expression: "), "{said}");
        assert!(mapping(&[("(a{1000}){1000}", "$1", Kept)]).is_err());
        let long = "x".repeat(limits::MAPPING_BYTES_MAX + 1);
        assert!(mapping(&[("a", &long, Kept)]).err().unwrap().contains("rule 1 is longer"));
        assert!(mapping(&[("a", "b", Kept); limits::MAPPING_RULES_MAX + 1]).is_err());
    }
}
