//! Sizes and times that files tell of what is in them, as other programs wrote them: `7z a -mx=1 -m0=LZMA` (26.02), and
//! `qpdf --add-attachment FILE --moddate=…` (11.3), the time of one attachment an hour east of Greenwich.

use ingather_extract::{Extracted, Input, Request, extract};

/// Both containers hold the same two files.
fn holds_whale_and_otter(name: &str, otter: &str, bytes: &[u8]) {
    let request = Request { name: name.to_owned(), ..Request::default() };
    let found = extract(&request, Input::memory(bytes.to_vec()));
    assert_eq!(found.reason, None, "{found:?}");
    let told = |part: Extracted| (part.name, part.text, part.size, part.modified);
    let found: Vec<_> = found.parts.into_iter().map(told).collect();
    let member =
        |name: &str, text: &str, modified| (name.to_owned(), text.to_owned(), Some(5), Some(modified));
    let wanted = [member(otter, "otter", 946_684_798_000), member("whale.txt", "whale", 1_706_702_400_000)];
    assert_eq!(found, wanted);
}

#[test]
fn members_of_7z_archives_have_their_times() {
    holds_whale_and_otter("members.7z", "deep/otter.txt", include_bytes!("made/members.7z"));
}

#[test]
fn attachments_of_pdf_documents_have_their_times() {
    holds_whale_and_otter("attachments.pdf", "otter.txt", include_bytes!("made/attachments.pdf"));
}
