//! What the changes of a batch come to: one change for each address, for the requests of a batch have no order among them.

use std::collections::HashMap;

use ingather_contract::output::{Change, Op};

/// What is left to be done at one address.
pub(super) struct Net<'b> {
    /// The put, the removal, or the change of access.
    pub(super) change: &'b Change,
    /// A later change of access of what is put.
    pub(super) access: Option<&'b Change>,
    /// The places in the batch that it answers for.
    pub(super) places: Vec<usize>,
}

impl<'b> Net<'b> {
    /// The change whose number it has.
    pub(super) fn last(&self) -> &'b Change {
        self.access.unwrap_or(self.change)
    }
}

/// The changes of a batch by address, and the places of those that speak of an entry that the batch has removed before.
pub(super) fn fold(batch: &[Change]) -> (Vec<Net<'_>>, Vec<usize>) {
    let (mut nets, mut gone): (Vec<Net<'_>>, Vec<usize>) = (Vec::with_capacity(batch.len()), Vec::new());
    let mut known: HashMap<&str, usize> = HashMap::with_capacity(batch.len());
    for (place, change) in batch.iter().enumerate() {
        let Some(net) = known.get(change.id.as_str()).and_then(|at| nets.get_mut(*at)) else {
            known.insert(&change.id, nets.len());
            nets.push(Net { change, access: None, places: vec![place] });
            continue;
        };
        let is_older = change.seq < net.last().seq;
        match (&change.op, &net.change.op) {
            (Op::Access { .. }, Op::Delete) if !is_older => {
                gone.push(place);
                continue;
            }
            _ if is_older => {}
            (Op::Access { .. }, Op::Put { .. }) => net.access = Some(change),
            _ => (net.change, net.access) = (change, None),
        }
        net.places.push(place);
    }
    (nets, gone)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use ingather_model::document::Record;
    use ingather_model::ids::{AclId, Digest};

    use super::*;

    fn change(id: &str, seq: i64, op: Op) -> Change {
        let (id, job_name) = (id.to_owned(), "j".into());
        Change { document: id.clone(), id, address: 1, job: 1, job_name, seq, op }
    }

    fn put() -> Op {
        Op::Put { record: Arc::new(Record::default()), version: Digest(1), acl_id: None, container: None }
    }

    fn access() -> Op {
        Op::Access { version: None, acl_id: Some(AclId(2)), container: None }
    }

    #[test]
    fn the_last_change_of_an_address_stands_and_answers_for_those_before_it() {
        let batch = [
            change("a", 1, put()),
            change("a", 2, access()),
            change("b", 3, put()),
            change("b", 4, Op::Delete),
            change("b", 5, access()),
            change("c", 6, access()),
            change("c", 7, access()),
            change("d", 9, put()),
            change("d", 8, Op::Delete),
        ];
        let (nets, gone) = fold(&batch);
        let told: Vec<(&str, i64, i64, &[usize])> = nets
            .iter()
            .map(|net| (net.change.id.as_str(), net.change.seq, net.last().seq, net.places.as_slice()))
            .collect();
        assert_eq!(
            told,
            [("a", 1, 2, &[0, 1][..]), ("b", 4, 4, &[2, 3]), ("c", 7, 7, &[5, 6]), ("d", 9, 9, &[7, 8]),]
        );
        assert_eq!(gone, [4], "an entry that was just removed has no access");
    }
}
