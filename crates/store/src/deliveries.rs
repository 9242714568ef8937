//! Deliveries: what each output holds of each document, as claimed by one owner (design 4.7).

use ingather_model::decision::DeliveryState;
use ingather_model::ids::{AclId, ConnectionId, ContainerId, Digest, JobId};
use ingather_model::lifecycle::outcome::DeliveryOutcome;

use crate::db::{Column, Row, Sql, Value, once_each};
use crate::error::Result;
use crate::queries;

/// What an output holds of a document.
#[derive(Clone, Debug)]
pub struct Delivery {
    /// The document.
    pub document: i64,
    /// What is in it; 0 for the document itself.
    pub component: i64,
    /// The output.
    pub output: ConnectionId,
    /// Number of the last intent.
    pub seq: i64,
    /// Digests intended and confirmed.
    pub state: DeliveryState,
    /// `refused`, `shared`, `overwritten`, `lost`.
    pub outcome: Option<DeliveryOutcome>,
}

/// An intent: written before anything is sent.
#[derive(Clone, Copy, Debug)]
pub struct Intent {
    /// The document.
    pub document: i64,
    /// What is in it; 0 for the document itself.
    pub component: i64,
    /// Hash of the address's parent.
    pub address_parent: i64,
    /// Hash of the address.
    pub address: i64,
    /// Larger than every earlier one of the address.
    pub seq: i64,
    /// Digest that will be held; [`Digest::NONE`] for a removal.
    pub intended: Digest,
    /// Access digest that will be held.
    pub intended_acl: Digest,
}

/// An answer to an intent, by its number.
#[derive(Clone, Copy, Debug)]
pub struct Answered {
    /// As in [`Intent::document`].
    pub document: i64,
    /// As in [`Intent::component`].
    pub component: i64,
    /// As in [`Intent::seq`].
    pub seq: i64,
}

impl From<&Intent> for Answered {
    fn from(intent: &Intent) -> Self {
        Self { document: intent.document, component: intent.component, seq: intent.seq }
    }
}

/// One owner of an address.
#[derive(Clone, Debug)]
pub struct Owner {
    /// Hash of the address.
    pub address: i64,
    /// The document.
    pub document: i64,
    /// Its job.
    pub job: JobId,
    /// Number of the last intent.
    pub seq: i64,
    /// Digests intended and confirmed.
    pub state: DeliveryState,
}

impl Owner {
    /// Whether the output is known to hold just what this owner sent last.
    pub fn holds_its_own(&self) -> bool {
        self.state.confirmed == Some(self.state.intended)
            && self.state.confirmed_acl == Some(self.state.intended_acl)
    }
}

/// The digests of a delivery, in four columns from `first` on.
fn state(row: &Row<'_>, first: usize) -> Result<DeliveryState> {
    Ok(DeliveryState {
        intended: Digest(row.int(first)?),
        intended_acl: Digest(row.int(first + 1)?),
        confirmed: row.opt_int(first + 2)?.map(Digest),
        confirmed_acl: row.opt_int(first + 3)?.map(Digest),
    })
}

/// What outputs hold of documents, in no order.
pub fn states(sql: &mut Sql<'_>, ids: &[i64]) -> Result<Vec<Delivery>> {
    sql.query(&queries::DELIVERY_STATES, &[Value::Ints(ids)], |row| {
        Ok(Delivery {
            document: row.int(0)?,
            component: row.int(1)?,
            output: ConnectionId(row.int(2)?),
            seq: row.int(3)?,
            state: state(row, 4)?,
            outcome: row.opt_word(8, DeliveryOutcome::parse)?,
        })
    })
}

/// Writes intents for one output; must be synced before anything is sent. With `access_only` the record's digest stays
/// as it stands, and a document that has no delivery gets none. Of two intents for one document the later one stands.
pub fn intend(
    sql: &mut Sql<'_>,
    output: ConnectionId,
    now: i64,
    access_only: bool,
    intents: &[Intent],
) -> Result<()> {
    once_each(intents, |intent| (intent.document, intent.component))
        .try_for_each(|intents| intend_once(sql, output, now, access_only, intents))
}

fn intend_once(
    sql: &mut Sql<'_>,
    output: ConnectionId,
    now: i64,
    access_only: bool,
    intents: &[Intent],
) -> Result<()> {
    let ints = |field: fn(&Intent) -> i64| intents.iter().map(field).collect::<Vec<i64>>();
    let (documents, components, seqs) = (ints(|i| i.document), ints(|i| i.component), ints(|i| i.seq));
    let access = ints(|i| i.intended_acl.0);
    if access_only {
        let columns = [
            Column::Ints(&documents),
            Column::Ints(&components),
            Column::Same(output.0),
            Column::Ints(&seqs),
            Column::Ints(&access),
            Column::Same(now),
        ];
        sql.execute_many(&queries::DELIVERY_INTEND_ACCESS, &columns)?;
        return Ok(());
    }
    sql.execute_many(
        &queries::DELIVERY_INTEND,
        &[
            Column::Ints(&documents),
            Column::Ints(&components),
            Column::Same(output.0),
            Column::Ints(&ints(|i| i.address_parent)),
            Column::Ints(&ints(|i| i.address)),
            Column::Ints(&seqs),
            Column::Ints(&ints(|i| i.intended.0)),
            Column::Ints(&access),
            Column::Same(now),
        ],
    )?;
    Ok(())
}

/// Remembers addresses that are not derived from keys: `(document, uri)`.
pub fn remember_uris(sql: &mut Sql<'_>, output: ConnectionId, uris: &[(i64, &str)]) -> Result<()> {
    let documents: Vec<i64> = uris.iter().map(|(document, _)| *document).collect();
    let texts: Vec<&str> = uris.iter().map(|(_, uri)| *uri).collect();
    let columns = [Column::Ints(&documents), Column::Same(output.0), Column::Texts(&texts)];
    sql.execute_many(&queries::DELIVERY_URI_PUT, &columns)?;
    Ok(())
}

/// Addresses that are not derived from keys: `(document, output, uri)`.
pub fn uris(sql: &mut Sql<'_>, ids: &[i64]) -> Result<Vec<(i64, ConnectionId, String)>> {
    sql.query(&queries::DELIVERY_URI_GET, &[Value::Ints(ids)], |row| {
        Ok((row.int(0)?, ConnectionId(row.int(1)?), row.text(2)?))
    })
}

/// What a confirmation says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Confirmed {
    /// Record and access are held as sent.
    Record,
    /// The access is held as sent.
    Access,
}

/// The columns that find the deliveries of one output by their answers.
struct Rows {
    documents: Vec<i64>,
    components: Vec<i64>,
    seqs: Vec<i64>,
}

impl Rows {
    fn of(rows: &[Answered]) -> Rows {
        Rows {
            documents: rows.iter().map(|row| row.document).collect(),
            components: rows.iter().map(|row| row.component).collect(),
            seqs: rows.iter().map(|row| row.seq).collect(),
        }
    }

    fn columns(&self, output: ConnectionId) -> Vec<Column<'_>> {
        let (documents, components) = (Column::Ints(&self.documents), Column::Ints(&self.components));
        vec![documents, components, Column::Same(output.0), Column::Ints(&self.seqs)]
    }
}

/// Writes confirmations for one output; a newer intent is left alone.
pub fn confirm(
    sql: &mut Sql<'_>,
    output: ConnectionId,
    now: i64,
    what: Confirmed,
    rows: &[Answered],
) -> Result<()> {
    let statement = match what {
        Confirmed::Record => &queries::DELIVERY_CONFIRM,
        Confirmed::Access => &queries::DELIVERY_CONFIRM_ACCESS,
    };
    let rows = Rows::of(rows);
    let mut columns = rows.columns(output);
    columns.push(Column::Same(now));
    sql.execute_many(statement, &columns)?;
    Ok(())
}

/// Writes how deliveries ended: `refused`, or `shared` where what another owner sent serves for them; a newer intent is left alone.
pub fn end_as(
    sql: &mut Sql<'_>,
    output: ConnectionId,
    outcome: DeliveryOutcome,
    rows: &[Answered],
) -> Result<()> {
    let rows = Rows::of(rows);
    let mut columns = rows.columns(output);
    columns.push(Column::SameText(outcome.as_str()));
    sql.execute_many(&queries::DELIVERY_END_AS, &columns)?;
    Ok(())
}

/// Takes deliveries off whose removal was confirmed, and the names of components that nothing is known of any more.
pub fn remove(sql: &mut Sql<'_>, output: ConnectionId, rows: &[Answered]) -> Result<()> {
    let mut inside: Vec<i64> = rows.iter().filter(|row| row.component != 0).map(|row| row.document).collect();
    inside.dedup();
    sql.execute_many(&queries::DELIVERY_REMOVE, &Rows::of(rows).columns(output))?;
    if !inside.is_empty() {
        sql.lock_components(true)?;
        sql.execute(&queries::COMPONENT_DROP, &[Value::Ints(&inside)])?;
    }
    Ok(())
}

/// Remembers the names of components that are about to be sent: `(document, component, name)`.
pub fn remember_components(sql: &mut Sql<'_>, rows: &[(i64, i64, &str)]) -> Result<()> {
    if rows.is_empty() {
        return Ok(());
    }
    let documents: Vec<i64> = rows.iter().map(|row| row.0).collect();
    let components: Vec<i64> = rows.iter().map(|row| row.1).collect();
    let names: Vec<&str> = rows.iter().map(|row| row.2).collect();
    let columns = [Column::Ints(&documents), Column::Ints(&components), Column::Texts(&names)];
    sql.lock_components(false)?;
    sql.execute_many(&queries::COMPONENT_PUT, &columns)?;
    Ok(())
}

/// Something in a document that has deliveries of its own.
#[derive(Clone, Debug)]
pub struct Component {
    /// The document.
    pub document: i64,
    /// Number in the document.
    pub id: i64,
    /// Name in the document.
    pub name: String,
    /// It could not be read when the document was read last, and stays as it was before.
    pub kept: bool,
}

/// What is in documents, in no order.
pub fn components(sql: &mut Sql<'_>, ids: &[i64]) -> Result<Vec<Component>> {
    sql.query(&queries::COMPONENT_GET, &[Value::Ints(ids)], |row| {
        Ok(Component { document: row.int(0)?, id: row.int(1)?, name: row.text(2)?, kept: row.int(3)? != 0 })
    })
}

/// Writes which components of a document stay as they were before it was read; all others were read.
pub fn keep_components(sql: &mut Sql<'_>, document: i64, kept: &[i64]) -> Result<()> {
    sql.execute(&queries::COMPONENT_KEEP, &[Value::Int(document), Value::Ints(kept)])?;
    Ok(())
}

/// Those of these documents of which something could not be read when they were read last.
pub fn with_kept_components(sql: &mut Sql<'_>, ids: &[i64]) -> Result<Vec<i64>> {
    crate::queue::among(sql, ids, &queries::COMPONENT_KEPT, &queries::COMPONENT_KEPT_SPAN, |row| row.int(0))
}

/// The component of a document that has this name.
pub fn component(sql: &mut Sql<'_>, document: i64, name: &str) -> Result<Option<i64>> {
    sql.one(&queries::COMPONENT_FIND, &[Value::Int(document), Value::Text(name)], |row| row.int(0))
}

/// How many things in a document have deliveries of their own.
pub fn component_count(sql: &mut Sql<'_>, document: i64) -> Result<u64> {
    let count = sql.one(&queries::COMPONENT_COUNT, &[Value::Int(document)], |row| row.int(0))?;
    Ok(count.unwrap_or(0).max(0) as u64)
}

/// Everybody who claims an address of an output (128 bits of a keyed hash stand for its text).
pub fn owners(
    sql: &mut Sql<'_>,
    output: ConnectionId,
    address_parent: i64,
    address: i64,
) -> Result<Vec<Owner>> {
    let values = [Value::Int(output.0), Value::Int(address_parent), Value::Int(address)];
    sql.query(&queries::DELIVERY_OWNERS, &values, |row| {
        Ok(Owner {
            address: row.int(0)?,
            document: row.int(1)?,
            seq: row.int(2)?,
            state: state(row, 3)?,
            job: JobId(row.int(7)?),
        })
    })
}

/// With an intent at their address, owners that sent anything else cannot rely on what is held any more; with
/// `access_only`, owners that sent another access.
pub fn supersede(sql: &mut Sql<'_>, output: ConnectionId, access_only: bool, intent: &Intent) -> Result<u64> {
    let mut values = vec![
        Value::Int(output.0),
        Value::Int(intent.address_parent),
        Value::Int(intent.address),
        Value::Int(intent.document),
    ];
    if access_only {
        values.push(Value::Int(intent.intended_acl.0));
        return sql.execute(&queries::DELIVERY_SUPERSEDE_ACCESS, &values);
    }
    values.extend([Value::Int(intent.intended.0), Value::Int(intent.intended_acl.0)]);
    sql.execute(&queries::DELIVERY_SUPERSEDE, &values)
}

/// How many documents of `job` stand in an output as `other` sent them.
pub fn superseded(sql: &mut Sql<'_>, output: ConnectionId, job: JobId, other: JobId) -> Result<u64> {
    let values = [Value::Int(job.0), Value::Int(other.0), Value::Int(output.0)];
    Ok(sql.one(&queries::DELIVERY_SUPERSEDED, &values, |row| row.int(0))?.unwrap_or_default() as u64)
}

/// How many documents of `job` stand at addresses at which outputs hold documents of other jobs, too.
pub fn kept_by_others(sql: &mut Sql<'_>, job: JobId) -> Result<u64> {
    let kept = sql.one(&queries::DELIVERY_KEPT_BY_OTHERS, &[Value::Int(job.0)], |row| row.int(0))?;
    Ok(kept.unwrap_or_default() as u64)
}

/// Documents of a job of which an output holds something, after `after`; found among at most `most` deliveries.
pub fn of_output(
    sql: &mut Sql<'_>,
    output: ConnectionId,
    job: JobId,
    after: i64,
    most: usize,
) -> Result<Vec<i64>> {
    let values = [Value::Int(output.0), Value::Int(job.0), Value::Int(after), Value::Int(most as i64)];
    let mut documents = sql.query(&queries::DELIVERY_OF_OUTPUT, &values, |row| row.int(0))?;
    documents.dedup();
    Ok(documents)
}

/// Marks deliveries of an output as not confirmed, for documents in `(after, until]`.
pub fn reset_output(sql: &mut Sql<'_>, output: ConnectionId, after: i64, until: i64) -> Result<u64> {
    sql.execute(
        &queries::DELIVERY_RESET_OUTPUT,
        &[Value::Int(output.0), Value::Int(after), Value::Int(until)],
    )
}

/// Marks one delivery of an output as not confirmed, unless it is a removal, or another intent followed.
pub fn reset_one(sql: &mut Sql<'_>, output: ConnectionId, row: Answered) -> Result<u64> {
    let values =
        [Value::Int(output.0), Value::Int(row.document), Value::Int(row.component), Value::Int(row.seq)];
    sql.execute(&queries::DELIVERY_RESET_ONE, &values)
}

/// Every document of an output after `after`: `(document, job)`; found among at most `most` deliveries.
pub fn all_of_output(
    sql: &mut Sql<'_>,
    output: ConnectionId,
    after: i64,
    most: usize,
) -> Result<Vec<(i64, JobId)>> {
    let values = [Value::Int(output.0), Value::Int(after), Value::Int(most as i64)];
    let mut documents =
        sql.query(&queries::DELIVERY_ALL_OF_OUTPUT, &values, |row| Ok((row.int(0)?, JobId(row.int(1)?))))?;
    documents.dedup();
    Ok(documents)
}

/// Access that is on its way: address, job, acl, container.
pub type Pending = (i64, JobId, Option<AclId>, Option<ContainerId>);

/// Addresses of an output whose new access is known and not confirmed, at most `most`.
pub fn pending_access(sql: &mut Sql<'_>, output: ConnectionId, most: usize) -> Result<Vec<Pending>> {
    sql.query(&queries::DELIVERY_PENDING_ACCESS, &[Value::Int(output.0), Value::Int(most as i64)], |row| {
        Ok((row.int(0)?, JobId(row.int(1)?), row.opt_int(2)?.map(AclId), row.opt_int(3)?.map(ContainerId)))
    })
}

/// What the delivery log says about one address, for one owner.
#[derive(Clone, Debug)]
pub struct LogRow {
    /// Hash of the address's parent, and of the address.
    pub address: (i64, i64),
    /// The document.
    pub document: i64,
    /// What is in it; 0 for the document itself.
    pub component: i64,
    /// Digests intended and confirmed.
    pub state: DeliveryState,
    /// How the last change ended, where its confirmation does not say it.
    pub outcome: Option<DeliveryOutcome>,
    /// Its acl.
    pub acl_id: Option<AclId>,
    /// Its container.
    pub container: Option<ContainerId>,
    /// Its job; none when document, name or job are not there, and the row says nothing.
    pub job: Option<JobId>,
}

/// What the delivery log says about an output, by address, after `after`, at most `most` rows.
pub fn log(sql: &mut Sql<'_>, output: ConnectionId, after: (i64, i64), most: usize) -> Result<Vec<LogRow>> {
    let values = [Value::Int(output.0), Value::Int(after.0), Value::Int(after.1), Value::Int(most as i64)];
    sql.query(&queries::DELIVERY_LOG, &values, |row| {
        Ok(LogRow {
            address: (row.int(0)?, row.int(1)?),
            document: row.int(2)?,
            component: row.int(3)?,
            state: state(row, 4)?,
            outcome: row.opt_word(8, DeliveryOutcome::parse)?,
            acl_id: row.opt_int(9)?.map(AclId),
            container: row.opt_int(10)?.map(ContainerId),
            job: row.opt_int(11)?.map(JobId),
        })
    })
}

/// What outputs are said to hold is not known any more: `(document, output)`. The documents have to be visited.
pub fn unconfirm(sql: &mut Sql<'_>, rows: &[(i64, i64)]) -> Result<()> {
    let (documents, outputs): (Vec<i64>, Vec<i64>) = rows.iter().copied().unzip();
    sql.execute_many(&queries::DELIVERY_UNCONFIRM, &[Column::Ints(&documents), Column::Ints(&outputs)])?;
    Ok(())
}

/// A delivery that stands, of an entry that another job has sent.
#[derive(Clone, Copy, Debug)]
pub struct SentByOther {
    /// The document.
    pub document: i64,
    /// What is in it; 0 for the document itself.
    pub component: i64,
    /// The output.
    pub output: i64,
    /// Where the document is.
    pub container: ContainerId,
    /// The job that has sent the entry, or may have.
    pub other: i64,
}

/// Deliveries of documents of a job whose entries another job has sent that waits for a container to open.
pub fn sent_by_others(sql: &mut Sql<'_>, job: JobId, documents: &[i64]) -> Result<Vec<SentByOther>> {
    let values = [Value::Int(job.0), Value::Ints(documents)];
    sql.query(&queries::DELIVERY_SENT_BY_OTHERS, &values, |row| {
        Ok(SentByOther {
            document: row.int(0)?,
            component: row.int(1)?,
            output: row.int(2)?,
            container: ContainerId(row.int(3)?),
            other: row.int(4)?,
        })
    })
}

/// Entries are to be these owners': their access is sent again. The documents have to be visited.
pub fn take_over(sql: &mut Sql<'_>, rows: &[SentByOther]) -> Result<()> {
    let documents: Vec<i64> = rows.iter().map(|row| row.document).collect();
    let components: Vec<i64> = rows.iter().map(|row| row.component).collect();
    let outputs: Vec<i64> = rows.iter().map(|row| row.output).collect();
    let columns = [Column::Ints(&documents), Column::Ints(&components), Column::Ints(&outputs)];
    sql.execute_many(&queries::DELIVERY_TAKE_OVER, &columns)?;
    Ok(())
}

/// Drops deliveries of documents, names or jobs that are not there; only once the output was looked through and holds nothing
/// of them.
pub fn drop_dangling(sql: &mut Sql<'_>, output: ConnectionId) -> Result<u64> {
    sql.execute(&queries::DELIVERY_DROP_DANGLING, &[Value::Int(output.0)])
}
