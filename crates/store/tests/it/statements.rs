//! Every statement can be prepared on both databases.

use ingather_store::queries;

use crate::world::on_both;

#[test]
fn every_statement_prepares_on_sqlite() {
    on_both("prepare", |fresh| {
        if let ingather_store::Target::Sqlite(path) = &fresh.target {
            let connection = rusqlite::Connection::open(path).unwrap();
            for statement in queries::ALL {
                if let Err(error) = connection.prepare(statement.sqlite()) {
                    panic!("{}: {error}\n{}", statement.name, statement.sqlite());
                }
            }
        }
        if let ingather_store::Target::Postgres(url) = &fresh.target {
            let mut client = postgres::Client::connect(url, postgres::NoTls).unwrap();
            for statement in queries::ALL {
                if let Err(error) = client.prepare(statement.postgres()) {
                    panic!("{}: {error:?}\n{}", statement.name, statement.postgres());
                }
            }
        }
    });
}
