//! Sizes and times that files tell of what is in them, as other programs wrote them: `7z a -mx=1 -m0=LZMA` (26.02), and
//! `qpdf --add-attachment FILE --moddate=…` (11.3), the time of one attachment an hour east of Greenwich.

use ingather_extract::{Extracted, Input, Request, extract};

fn members(name: &str, bytes: &[u8]) -> Vec<(String, String, Option<u64>, Option<i64>)> {
    let request = Request { name: name.to_owned(), ..Request::default() };
    let found = extract(&request, Input::memory(bytes.to_vec()));
    assert_eq!(found.reason, None, "{found:?}");
    let told = |part: Extracted| (part.name, part.text, part.size, part.modified);
    found.parts.into_iter().map(told).collect()
}

fn member(name: &str, text: &str, modified: i64) -> (String, String, Option<u64>, Option<i64>) {
    (name.to_owned(), text.to_owned(), Some(text.len() as u64), Some(modified))
}

#[test]
fn members_of_7z_archives_have_their_times() {
    let found = members("members.7z", include_bytes!("made/members.7z"));
    let wanted =
        [member("deep/otter.txt", "otter", 946_684_798_000), member("whale.txt", "whale", 1_706_702_400_000)];
    assert_eq!(found, wanted);
}

#[test]
fn attachments_of_pdf_documents_have_their_times() {
    let found = members("attachments.pdf", include_bytes!("made/attachments.pdf"));
    let wanted =
        [member("otter.txt", "otter", 946_684_798_000), member("whale.txt", "whale", 1_706_702_400_000)];
    assert_eq!(found, wanted);
}
