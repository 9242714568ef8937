//! A site of lists: a first page leads to so many lists, each of them to one page fewer than there are lists, and each edition of the site to
//! one new page more.

/// Where such a site begins, behind the address of its host.
pub(crate) fn beginning(lists: usize) -> String {
    format!("/lists-{lists}/")
}

/// How many pages the first edition has.
pub(crate) fn pages(lists: usize) -> usize {
    lists * lists + 1
}

/// Where a page leads, as it writes it; none where there is no such page.
pub(crate) fn links(path: &str, edition: usize) -> Option<Vec<String>> {
    let (lists, path) = path.strip_prefix("/lists-")?.split_once('/')?;
    let lists: usize = lists.parse().ok()?;
    if path.is_empty() {
        let new = (1..=edition).map(|edition| format!("new-{edition}"));
        return Some((0..lists).map(|list| format!("list-{list}/")).chain(new).collect());
    }
    if path.starts_with("new-") {
        return Some(vec!["./".to_owned()]);
    }
    let (list, page) = path.strip_prefix("list-")?.split_once('/')?;
    list.parse::<usize>().ok()?;
    Some(match page {
        "" => (1..lists).map(|page| format!("page-{page}")).collect(),
        _ => vec!["../".to_owned(), "./".to_owned()],
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_site_of_three_lists_has_ten_pages() {
        let of = |path: &str| links(path, 0).unwrap();
        let below = of("/lists-3/");
        assert_eq!(below, ["list-0/", "list-1/", "list-2/"]);
        let all: usize = below.iter().map(|list| 1 + of(&format!("/lists-3/{list}")).len()).sum();
        assert_eq!(all + 1, pages(3));
        assert_eq!(links("/lists-3/", 2).unwrap().last().unwrap(), "new-2");
        assert_eq!(links("/robots.txt", 0), None);
    }
}
