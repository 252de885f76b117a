//! Expressions.

use alloc::boxed::Box;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::{Parsed, Parser};
use crate::syntax::{BinaryOperator, Expression, ExpressionKind, UnaryOperator};
use crate::token::TokenKind;

/// How many operators an expression may have: what they are evaluated with is a stack.
const MAX_OPERATORS: usize = 500;

/// Operators with two operands and how tightly they bind, the loosest first.
const BINARY: [(&str, BinaryOperator, u8); 18] = [
    ("||", BinaryOperator::Or, 1),
    ("&&", BinaryOperator::And, 2),
    ("|", BinaryOperator::BitOr, 3),
    ("^", BinaryOperator::BitXor, 4),
    ("&", BinaryOperator::BitAnd, 5),
    ("==", BinaryOperator::Equal, 6),
    ("!=", BinaryOperator::NotEqual, 6),
    ("<", BinaryOperator::Less, 7),
    ("<=", BinaryOperator::LessOrEqual, 7),
    (">", BinaryOperator::Greater, 7),
    (">=", BinaryOperator::GreaterOrEqual, 7),
    ("<<", BinaryOperator::ShiftLeft, 8),
    (">>", BinaryOperator::ShiftRight, 8),
    ("+", BinaryOperator::Add, 9),
    ("-", BinaryOperator::Subtract, 9),
    ("*", BinaryOperator::Multiply, 10),
    ("/", BinaryOperator::Divide, 10),
    ("%", BinaryOperator::Remainder, 10),
];

impl Parser<'_, '_> {
    pub(super) fn expression(&mut self) -> Parsed<Expression> {
        self.operators = 0;
        self.nested(|parser| parser.operation(1))
    }

    /// An expression of operators that bind at least this tightly.
    fn operation(&mut self, tightness: u8) -> Parsed<Expression> {
        let mut left = self.operand()?;
        while let Some((operator, own, tokens)) = self.binary_operator()
            && own >= tightness
        {
            self.operators += 1;
            if self.operators > MAX_OPERATORS {
                return self.complain("fewer operators");
            }
            for _ in 0..tokens {
                self.advance();
            }
            let right = self.operation(own + 1)?;
            let span = left.span.to(right.span);
            let kind = ExpressionKind::Binary(operator, Box::new((left, right)));
            left = Expression { kind, span };
        }
        Ok(left)
    }

    /// The operator that is next, how tightly it binds, and its length in tokens.
    fn binary_operator(&self) -> Option<(BinaryOperator, u8, usize)> {
        let (token, behind) = (self.peek(), self.peek_behind());
        if token.kind != TokenKind::Mark {
            return None;
        }
        let is_adjacent = behind.is(">") && token.span.end == behind.span.start;
        let (text, tokens) = if token.is(">") && is_adjacent { (">>", 2) } else { (token.text, 1) };
        let (_, operator, tightness) = BINARY.into_iter().find(|(mark, ..)| *mark == text)?;
        Some((operator, tightness, tokens))
    }

    fn operand(&mut self) -> Parsed<Expression> {
        let token = self.peek();
        let kind = match token.kind {
            TokenKind::Integer => ExpressionKind::Integer(token.text.to_string()),
            TokenKind::Float => ExpressionKind::Float(token.text.to_string()),
            TokenKind::Char => ExpressionKind::Char(token.text.to_string()),
            TokenKind::Text => ExpressionKind::Text(unquoted(token.text)),
            TokenKind::Word if token.text == "true" || token.text == "false" => {
                ExpressionKind::Boolean(token.text == "true")
            }
            TokenKind::Word => {
                let name = self.qualified_name()?;
                let span = name.span;
                return Ok(Expression { kind: ExpressionKind::Name(name), span });
            }
            TokenKind::Mark => return self.nested(Self::grouped),
            TokenKind::At | TokenKind::End => return self.complain("a value"),
        };
        self.advance();
        Ok(Expression { kind, span: token.span })
    }

    /// An expression that begins with a mark: an operator, a parenthesis or a brace.
    fn grouped(&mut self) -> Parsed<Expression> {
        let token = self.peek();
        let operators = [
            ("+", UnaryOperator::Plus),
            ("-", UnaryOperator::Minus),
            ("~", UnaryOperator::Complement),
            ("!", UnaryOperator::Not),
        ];
        if let Some((_, operator)) = operators.into_iter().find(|(mark, _)| *mark == token.text) {
            self.advance();
            let operand = self.operand()?;
            let span = token.span.to(operand.span);
            return Ok(Expression {
                kind: ExpressionKind::Unary(operator, Box::new(operand)),
                span,
            });
        }
        if self.take("(").is_some() {
            let inner = self.operation(1)?;
            let span = token.span.to(self.expect(")")?.span);
            return Ok(Expression { span, ..inner });
        }
        if self.take("{").is_some() {
            let mut values = Vec::new();
            while !self.peek().is("}") {
                values.push(self.operation(1)?);
                if self.take(",").is_none() {
                    break;
                }
            }
            let span = token.span.to(self.expect("}")?.span);
            return Ok(Expression { kind: ExpressionKind::List(values), span });
        }
        self.complain("a value")
    }
}

fn unquoted(text: &str) -> String {
    String::from(text.trim_start_matches('"').trim_end_matches('"'))
}
