//! Outputs that misbehave.

use super::World;

impl World {
    pub(super) fn output_fault(&mut self) {
        let at = self.dice.below(self.outputs.len());
        let (output, kind) = self.outputs[at];
        if kind == "told" && self.dice.once_in(4) {
            let how = self.dice.one(&["cut", "rotated"]);
            return self.tell(&format!("fault {output} {how}"));
        }
        let name = if self.dice.once_in(3) { "*" } else { self.dice.one(self.names) };
        let times = 1 + self.dice.below(4);
        let word = self.dice.one(&[
            "passing",
            "passing",
            "keeping",
            "busy",
            "timeout",
            "timeout",
            "late",
            "late",
            "short",
            "double",
            "commit",
            "fine",
            "slow:700",
            "slow:9000",
            "refused",
            "forgets",
            "older",
        ]);
        match word {
            "forgets" | "older" if kind != "committing" => {}
            "short" | "double" | "commit" | "fine" | "forgets" | "older" | "slow:700" | "slow:9000" => {
                self.tell(&format!("fault {output} {word}"));
            }
            _ => self.tell(&format!("fault {output} {word} {name} {times}")),
        }
    }
}
