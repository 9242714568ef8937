//! Texts of scripts that are written in several ways, or without spaces: the first article of the Universal Declaration of
//! Human Rights, in the translations of the United Nations.

use ingather_contract::access_filter::AccessFilter;
use ingather_model::document::Record;

use super::*;

const ARABIC: &str = "يولد جميع الناس أحرارا متساوين في الكرامة والحقوق. وقد وهبوا عقلا وضميرا وعليهم أن يعامل بعضهم بعضا بروح الإخاء.";
const HEBREW: &str = "כל בני האדם נולדו בני חורין ושווים בערכם ובזכויותיהם. כולם חוננו בתבונה ובמצפון, לפיכך חובה עליהם לנהוג איש ברעהו ברוח של אחווה.";
const PERSIAN: &str = "تمام افراد بشر آزاد به دنیا می\u{200c}آیند و از لحاظ حیثیت و حقوق با هم برابرند. همه دارای عقل و وجدان هستند و باید نسبت به یکدیگر با روح برادری رفتار کنند.";
const THAI: &str = "มนุษย์ทั้งหลายเกิดมามีอิสระและเสมอภาคกันในเกียรติศักดิ์และสิทธิ ต่างมีเหตุผลและมโนธรรม และควรปฏิบัติต่อกันด้วยเจตนารมณ์แห่งภราดรภาพ";

#[test]
fn arabic_hebrew_persian_and_thai_are_found_however_they_are_typed() {
    let (data, _index) = filled(&[
        put("d/ar", 1, ARABIC),
        put("d/he", 2, HEBREW),
        put("d/fa", 3, PERSIAN),
        put("d/th", 4, THAI),
    ]);
    for (query, name) in [
        ("lang:ar", "ar"),
        ("lang:he", "he"),
        ("lang:fa", "fa"),
        ("lang:th", "th"),
        ("+الناس", "ar"),
        ("\"الكرامة والحقوق\"", "ar"),
        // By its stem, with vowel signs, with a longer stroke, and as old programs draw it.
        ("+كرامة", "ar"),
        ("+النَّاس", "ar"),
        ("+النـــاس", "ar"),
        ("+\u{fe8d}\u{fedf}\u{fee8}\u{fe8e}\u{fea1}", ""),
        ("+\u{fe8d}\u{fedf}\u{fee8}\u{fe8e}\u{feb1}", "ar"),
        ("+האדם", "he"),
        ("+הָאָדָם", "he"),
        ("\"בני חורין\"", "he"),
        ("+דנیא", ""),
        ("+دنیا", "fa"),
        ("+حقوق", "fa"),
        // With the letters of an Arabic keyboard, and with a space in the place of the joint.
        ("+دنيا", "fa"),
        ("+يكديگر", "fa"),
        ("\"می آیند\"", "fa"),
        ("+می\u{200c}آیند", "fa"),
        ("มนุษย์", "th"),
        ("\"เหตุผลและมโนธรรม\"", "th"),
        ("+สิทธิ", "th"),
        ("+ธิสิท", ""),
    ] {
        assert_eq!(found(data.path(), query).join(" "), name, "{query}");
    }
    for (query, marked) in [("+هَمه", "[همه]"), ("+الكرامه", ""), ("+ברוּחַ", "[ברוח]"), ("อิสระ", "[อิสระ]")]
    {
        let results = results(data.path(), &request(query, AccessFilter::All));
        let shown = results.hits.first().map(|hit| hit.snippet.marked("[", "]")).unwrap_or_default();
        assert!(shown.contains(marked), "{query}: {shown}");
    }
}

#[test]
fn katakana_and_korean_are_found_in_every_width_and_in_pieces() {
    let named = |id: &str, path: &str, body: &str| {
        put_as(id, 1, (Some(1), Some(1)), Record { path: path.to_owned(), ..text(body) })
    };
    let (data, _index) = filled(&[
        named("d/wide", "a", "新しいプログラムの説明"),
        named("d/narrow", "b", "新しいﾌﾟﾛｸﾞﾗﾑの説明"),
        // As some file systems keep names.
        named("d/pieces", "フ\u{309a}ロク\u{3099}ラム.txt", "別の話"),
        named("d/korean", "\u{1112}\u{1161}\u{11ab}\u{1100}\u{1173}\u{11af}.txt", "다른 이야기"),
    ]);
    for query in ["プログラム", "ﾌﾟﾛｸﾞﾗﾑ", "フ\u{309a}ロク\u{3099}ラム", "グ", "ｸﾞ", "\"グラ\""]
    {
        assert_eq!(found(data.path(), query), ["narrow", "pieces", "wide"], "{query}");
    }
    assert_eq!(found(data.path(), "ク"), Vec::<String>::new(), "another letter");
    assert_eq!(found(data.path(), "한글"), ["korean"]);
    for query in ["プログラム body:説明", "ﾌﾟﾛｸﾞﾗﾑ body:説明"] {
        let results = results(data.path(), &request(query, AccessFilter::All));
        let mut shown: Vec<String> = results.hits.iter().map(|hit| hit.snippet.marked("[", "]")).collect();
        shown.sort();
        assert_eq!(shown, ["新しい[プログラム]の[説明]", "新しい[ﾌﾟﾛｸﾞﾗﾑ]の[説明]"], "{query}");
    }
}
