//! Pipelines that are trees: outputs with conditions, and with places of their own.

use super::World;

const CONDITIONS: &[&str] = &[
    "{\"field\":\"body\",\"contains\":\"1\"}",
    "{\"not\":{\"field\":\"body\",\"contains\":\"1\"}}",
    "{\"any\":[{\"field\":\"body\",\"contains\":\"2\"},{\"field\":\"mark\",\"exists\":true}]}",
    "{\"all\":[{\"field\":\"body\",\"contains\":\"v\"},{\"field\":\"mark\",\"equals\":\"m1\"}]}",
];

impl World {
    /// Where outputs come in a pipeline, and what they get there.
    pub(super) fn routes(&mut self, to: &[&str], has_stages: bool) -> String {
        let mut routes = String::new();
        if !self.routed {
            return routes;
        }
        for (number, output) in to.iter().enumerate() {
            let mut route = Vec::new();
            if !self.dice.once_in(3) {
                route.push(format!("\"when\":{}", self.dice.one(CONDITIONS)));
            }
            // The first output stays behind the last stage, which has to lead somewhere; other outputs may take its place where what is
            // read is kept.
            if has_stages && number > 0 && !self.keeps && self.dice.once_in(2) {
                route.push("\"after\":\"source\"".to_owned());
            }
            routes.push_str(&format!(" route={output}:{{{}}}", route.join(",")));
        }
        routes
    }
}
