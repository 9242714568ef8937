//! The part of Python in which the test suite of feedparser says what a reader must find.

use std::collections::BTreeMap;

/// What an expression is about.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value {
    None,
    Bool(bool),
    Number(i64),
    Text(String),
    List(Vec<Value>),
    Map(BTreeMap<String, Value>),
}

/// A parsed expression.
#[derive(Clone, Debug)]
pub(crate) enum Expression {
    Literal(Value),
    Name(String),
    List(Vec<Expression>),
    Map(Vec<(Expression, Expression)>),
    Inside(Box<Expression>, Box<Expression>),
    Asked(String, Option<Box<Expression>>, Vec<Expression>),
    Not(Box<Expression>),
    And(Vec<Expression>),
    Compare(Box<Expression>, Vec<(String, Expression)>),
}

/// Words and marks of an expression.
#[derive(Clone, Debug, PartialEq)]
enum Word {
    Text(String),
    Number(i64),
    Name(String),
    Mark(String),
}

/// Parses an expression.
pub(crate) fn parse(source: &str) -> Result<Expression, String> {
    let mut parser = Parser { words: words(source)?, at: 0 };
    let parsed = parser.and()?;
    match parser.words.get(parser.at) {
        None => Ok(parsed),
        Some(word) => Err(format!("{word:?} is too much")),
    }
}

/// What has to hold, one by one.
pub(crate) fn demands(expression: Expression) -> Vec<Expression> {
    match expression {
        Expression::And(all) => all.into_iter().flat_map(demands).collect(),
        one => vec![one],
    }
}

fn words(source: &str) -> Result<Vec<Word>, String> {
    let letters: Vec<char> = source.chars().collect();
    let mut words = Vec::new();
    let mut at = 0;
    while at < letters.len() {
        let letter = letters[at];
        match letter {
            letter if letter.is_whitespace() => at += 1,
            '\'' | '"' => {
                let (text, end) = text(&letters, at)?;
                words.push(Word::Text(text));
                at = end;
            }
            '0'..='9' => {
                let end =
                    (at..letters.len()).find(|at| !letters[*at].is_ascii_digit()).unwrap_or(letters.len());
                let digits: String = letters[at..end].iter().collect();
                words.push(Word::Number(digits.parse().map_err(|_| digits)?));
                at = end;
            }
            letter if letter.is_alphabetic() || letter == '_' => {
                let is_of_name = |at: &usize| letters[*at].is_alphanumeric() || letters[*at] == '_';
                let end = (at..letters.len()).find(|at| !is_of_name(at)).unwrap_or(letters.len());
                let name: String = letters[at..end].iter().collect();
                // The letter before a text says of what kind it is.
                if !(name == "u" && matches!(letters.get(end), Some('\'' | '"'))) {
                    words.push(Word::Name(name));
                }
                at = end;
            }
            _ => {
                let two: String = letters[at..].iter().take(2).collect();
                let mark = if matches!(two.as_str(), "==" | "!=") { two } else { letter.to_string() };
                at += mark.len();
                words.push(Word::Mark(mark));
            }
        }
    }
    Ok(words)
}

/// The text whose quote stands at `at`, and where it ends.
fn text(letters: &[char], at: usize) -> Result<(String, usize), String> {
    let quote = letters[at];
    let (mut text, mut at) = (String::new(), at + 1);
    loop {
        match letters.get(at).ok_or("a text without end")? {
            letter if *letter == quote => return Ok((text, at + 1)),
            '\\' => {
                let kind = *letters.get(at + 1).ok_or("a text without end")?;
                let digits = match kind {
                    'x' => 2,
                    'u' => 4,
                    'U' => 8,
                    _ => 0,
                };
                let number: String = letters[at + 2..].iter().take(digits).collect();
                at += 2 + digits;
                text.extend(match kind {
                    'n' => Some('\n'),
                    't' => Some('\t'),
                    'r' => Some('\r'),
                    'x' | 'u' | 'U' => u32::from_str_radix(&number, 16).ok().and_then(char::from_u32),
                    other => Some(other),
                });
            }
            letter => {
                text.push(*letter);
                at += 1;
            }
        }
    }
}

struct Parser {
    words: Vec<Word>,
    at: usize,
}

impl Parser {
    fn takes(&mut self, word: &str) -> bool {
        let is = match self.words.get(self.at) {
            Some(Word::Name(name) | Word::Mark(name)) => name == word,
            _ => false,
        };
        self.at += usize::from(is);
        is
    }

    fn needs(&mut self, word: &str) -> Result<(), String> {
        if self.takes(word) {
            Ok(())
        } else {
            Err(format!("{word} is missing at {:?}", self.words.get(self.at)))
        }
    }

    fn and(&mut self) -> Result<Expression, String> {
        let mut all = vec![self.not()?];
        while self.takes("and") {
            all.push(self.not()?);
        }
        Ok(if all.len() == 1 { all.remove(0) } else { Expression::And(all) })
    }

    fn not(&mut self) -> Result<Expression, String> {
        if self.takes("not") {
            return Ok(Expression::Not(Box::new(self.not()?)));
        }
        let first = self.one()?;
        let mut rest = Vec::new();
        loop {
            let mark = if self.takes("==") {
                "=="
            } else if self.takes("!=") {
                "!="
            } else if self.takes("in") {
                "in"
            } else if self.takes("not") {
                self.needs("in")?;
                "not in"
            } else if self.takes("is") {
                if self.takes("not") { "!=" } else { "==" }
            } else {
                break;
            };
            rest.push((mark.to_owned(), self.one()?));
        }
        Ok(if rest.is_empty() { first } else { Expression::Compare(Box::new(first), rest) })
    }

    fn list(&mut self, end: &str) -> Result<Vec<Expression>, String> {
        let mut list = Vec::new();
        while !self.takes(end) {
            list.push(self.and()?);
            if !self.takes(",") {
                self.needs(end)?;
                break;
            }
        }
        Ok(list)
    }

    fn one(&mut self) -> Result<Expression, String> {
        let word = self.words.get(self.at).cloned().ok_or("an expression without end")?;
        self.at += 1;
        let mut one = match word {
            Word::Text(text) => Expression::Literal(Value::Text(text)),
            Word::Number(number) => Expression::Literal(Value::Number(number)),
            Word::Name(name) => match name.as_str() {
                "None" => Expression::Literal(Value::None),
                "True" => Expression::Literal(Value::Bool(true)),
                "False" => Expression::Literal(Value::Bool(false)),
                _ if self.takes("(") => Expression::Asked(name, None, self.list(")")?),
                _ => Expression::Name(name),
            },
            Word::Mark(mark) => match mark.as_str() {
                "(" => {
                    let mut list = self.list(")")?;
                    if list.len() == 1 { list.remove(0) } else { Expression::List(list) }
                }
                "[" => Expression::List(self.list("]")?),
                "{" => self.map()?,
                _ => return Err(format!("{mark} begins nothing")),
            },
        };
        loop {
            if self.takes("[") {
                let inside = self.and()?;
                self.needs("]")?;
                one = Expression::Inside(Box::new(one), Box::new(inside));
            } else if self.takes(".") {
                let Some(Word::Name(name)) = self.words.get(self.at).cloned() else {
                    return Err("a name is missing".to_owned());
                };
                self.at += 1;
                one = match self.takes("(") {
                    true => Expression::Asked(name, Some(Box::new(one)), self.list(")")?),
                    false => {
                        Expression::Inside(Box::new(one), Box::new(Expression::Literal(Value::Text(name))))
                    }
                };
            } else {
                return Ok(one);
            }
        }
    }

    fn map(&mut self) -> Result<Expression, String> {
        let mut pairs = Vec::new();
        while !self.takes("}") {
            let key = self.one()?;
            self.needs(":")?;
            pairs.push((key, self.one()?));
            if !self.takes(",") {
                self.needs("}")?;
                break;
            }
        }
        Ok(Expression::Map(pairs))
    }
}

/// Works an expression out; `named` knows the names, and `same` what is equal.
pub(crate) fn value(
    expression: &Expression,
    named: &dyn Fn(&str) -> Option<Value>,
    same: &dyn Fn(&Value, &Value) -> bool,
) -> Result<Value, String> {
    let of = |expression: &Expression| value(expression, named, same);
    Ok(match expression {
        Expression::Literal(value) => value.clone(),
        Expression::Name(name) => named(name).ok_or_else(|| format!("{name} is not known"))?,
        Expression::List(list) => Value::List(list.iter().map(of).collect::<Result<_, _>>()?),
        Expression::Map(pairs) => {
            let pairs = pairs.iter().map(|(key, value)| match of(key)? {
                Value::Text(key) => Ok((key, of(value)?)),
                other => Err(format!("{other:?} is no key")),
            });
            Value::Map(pairs.collect::<Result<_, String>>()?)
        }
        Expression::Inside(whole, key) => inside(&of(whole)?, &of(key)?)?,
        Expression::Not(inner) => Value::Bool(!is_true(&of(inner)?)),
        Expression::And(all) => {
            let all = all.iter().map(|one| Ok(is_true(&of(one)?))).collect::<Result<Vec<_>, String>>()?;
            Value::Bool(all.into_iter().all(|one| one))
        }
        Expression::Compare(first, rest) => {
            let mut left = of(first)?;
            for (mark, right) in rest {
                let right = of(right)?;
                let holds = match mark.as_str() {
                    "==" => same(&left, &right),
                    "!=" => !same(&left, &right),
                    "in" => inside(&right, &left).is_ok(),
                    _ => inside(&right, &left).is_err(),
                };
                if !holds {
                    return Err(format!("{left:?} {mark} {right:?}"));
                }
                left = right;
            }
            Value::Bool(true)
        }
        Expression::Asked(name, whole, arguments) => call(name, whole.as_deref(), arguments, &of)?,
    })
}

fn call(
    name: &str,
    whole: Option<&Expression>,
    arguments: &[Expression],
    of: &dyn Fn(&Expression) -> Result<Value, String>,
) -> Result<Value, String> {
    let argument = of(arguments.first().ok_or("an argument is missing")?)?;
    Ok(match (name, whole) {
        ("len", None) => match argument {
            Value::List(list) => Value::Number(i64::try_from(list.len()).unwrap()),
            other => return Err(format!("{other:?} has no length")),
        },
        ("ord", None) => match argument {
            Value::Text(text) if text.chars().count() == 1 => {
                Value::Number(text.chars().map(|letter| i64::from(u32::from(letter))).sum())
            }
            other => return Err(format!("{other:?} is not one letter")),
        },
        ("get", Some(whole)) => inside(&of(whole)?, &argument).unwrap_or(Value::None),
        ("has_key", Some(whole)) => Value::Bool(inside(&of(whole)?, &argument).is_ok()),
        _ => return Err(format!("{name} is not known")),
    })
}

fn inside(whole: &Value, key: &Value) -> Result<Value, String> {
    let found = match (whole, key) {
        (Value::Map(map), Value::Text(key)) => map.get(key),
        (Value::List(list), Value::Number(at)) => usize::try_from(*at).ok().and_then(|at| list.get(at)),
        _ => None,
    };
    found.cloned().ok_or_else(|| format!("there is no {key:?}"))
}

/// Whether Python takes a value for true.
pub(crate) fn is_true(value: &Value) -> bool {
    match value {
        Value::None => false,
        Value::Bool(value) => *value,
        Value::Number(number) => *number != 0,
        Value::Text(text) => !text.is_empty(),
        Value::List(list) => !list.is_empty(),
        Value::Map(map) => !map.is_empty(),
    }
}

/// An expression in short, such as `feed.title_detail.type`.
pub(crate) fn shown(expression: &Expression) -> String {
    match expression {
        Expression::Literal(Value::Text(text)) => text.clone(),
        Expression::Literal(value) => format!("{value:?}").replace("Number(", "").replace(')', ""),
        Expression::Name(name) => name.clone(),
        Expression::Inside(whole, key) => format!("{}.{}", shown(whole), shown(key)),
        Expression::Not(inner) => format!("not {}", shown(inner)),
        Expression::Compare(first, rest) => {
            let rest: Vec<String> =
                rest.iter().map(|(mark, right)| format!(" {mark} {}", shown(right))).collect();
            format!("{}{}", shown(first), rest.concat())
        }
        Expression::Asked(name, whole, arguments) => {
            let whole = whole.as_deref().map(|whole| format!("{}.", shown(whole))).unwrap_or_default();
            format!("{whole}{name}({})", arguments.iter().map(shown).collect::<Vec<_>>().join(", "))
        }
        Expression::List(all) | Expression::And(all) => all.iter().map(shown).collect::<Vec<_>>().join(" "),
        Expression::Map(pairs) => {
            pairs.iter().map(|(key, value)| format!("{}={} ", shown(key), shown(value))).collect()
        }
    }
}
