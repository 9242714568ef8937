//! Reads files in this process and prints what comes out, one JSON object each; for work on readers.

fn main() {
    for name in std::env::args().skip(1) {
        let file = std::fs::read(&name).map(ingather_extract::Input::memory);
        let request = ingather_extract::Request {
            name: name.rsplit('/').next().unwrap_or_default().to_owned(),
            ..Default::default()
        };
        match file {
            Ok(file) => {
                let found = ingather_extract::extract(&request, file);
                println!("{}", serde_json::to_string(&found).unwrap_or_default());
            }
            Err(error) => eprintln!("{name}: {error}"),
        }
    }
}
