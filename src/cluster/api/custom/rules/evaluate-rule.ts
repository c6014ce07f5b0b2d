import { isRecord, jsonEqual } from '../../schema/json.ts';
import type { Expression } from './rule-expression.ts';

export interface RuleInput {
  readonly self: unknown;
  readonly oldSelf?: unknown;
}

/**
 * What a rule says about a value; undefined where CEL would give an error, as for a member that is not there
 * (which `||` and `&&` absorb, if the other side decides).
 */
export function evaluateRule(expression: Expression, input: RuleInput): unknown {
  switch (expression.is) {
    case 'value':
      return expression.value;
    case 'list':
      return expression.items.map((item) => evaluateRule(item, input));
    case 'name':
      return expression.name === 'self' ? input.self : input.oldSelf;
    case 'member':
      return memberOf(evaluateRule(expression.of, input), expression.key);
    case 'has':
      return evaluateRule(expression.of, input) !== undefined;
    case 'size':
      return sizeOf(evaluateRule(expression.of, input));
    case 'not': {
      const value = evaluateRule(expression.of, input);
      return typeof value === 'boolean' ? !value : undefined;
    }
    case 'method':
      return callMethod(
        expression.name,
        evaluateRule(expression.of, input),
        evaluateRule(expression.argument, input),
      );
    case 'binary':
      return combine(
        expression.operator,
        evaluateRule(expression.left, input),
        evaluateRule(expression.right, input),
      );
  }
}

function memberOf(value: unknown, key: string): unknown {
  return isRecord(value) && Object.hasOwn(value, key) ? value[key] : undefined;
}

function sizeOf(value: unknown): number | undefined {
  if (typeof value === 'string') return Array.from(value).length;
  if (Array.isArray(value)) return value.length;
  return isRecord(value) ? Object.keys(value).length : undefined;
}

function callMethod(
  name: Extract<Expression, { is: 'method' }>['name'],
  value: unknown,
  argument: unknown,
): boolean | undefined {
  if (typeof value !== 'string' || typeof argument !== 'string') return undefined;
  switch (name) {
    case 'startsWith':
      return value.startsWith(argument);
    case 'endsWith':
      return value.endsWith(argument);
    case 'contains':
      return value.includes(argument);
    case 'matches':
      return matches(value, argument);
  }
}

function matches(value: string, pattern: string): boolean | undefined {
  try {
    return new RegExp(pattern).test(value);
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

function combine(
  operator: Extract<Expression, { is: 'binary' }>['operator'],
  left: unknown,
  right: unknown,
): boolean | undefined {
  if (operator === '||') return decide(left, right, true);
  if (operator === '&&') return decide(left, right, false);
  if (left === undefined || right === undefined) return undefined;
  switch (operator) {
    case '==':
      return jsonEqual(left, right);
    case '!=':
      return !jsonEqual(left, right);
    case 'in':
      return contains(left, right);
    case '<':
    case '<=':
    case '>':
    case '>=':
      return compare(operator, left, right);
  }
}

/** One side that is `decisive` is enough. */
function decide(left: unknown, right: unknown, decisive: boolean): boolean | undefined {
  if (left === decisive || right === decisive) return decisive;
  return left === !decisive && right === !decisive ? !decisive : undefined;
}

function contains(item: unknown, container: unknown): boolean | undefined {
  if (Array.isArray(container)) return container.some((one) => jsonEqual(one, item));
  return isRecord(container) && typeof item === 'string' ? Object.hasOwn(container, item) : undefined;
}

function compare(operator: '<' | '<=' | '>' | '>=', left: unknown, right: unknown): boolean | undefined {
  const numbers = typeof left === 'number' && typeof right === 'number';
  if (!numbers && !(typeof left === 'string' && typeof right === 'string')) return undefined;
  if (operator.endsWith('=') && left === right) return true;
  return operator.startsWith('<') ? left < right : left > right;
}
