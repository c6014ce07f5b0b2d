import assert from 'node:assert/strict';
import { errorTable } from '../../../src/errors/error-table.ts';
import { mbusPassword } from '../../../src/cpi/testing/test-cloud.ts';

const types = new Set(Object.values(errorTable).map(({ boshType }) => boshType));

/**
 * Asserts that a text is one valid envelope (docs-bosh: content/cpi-api-v2.md). An error in it must have a
 * known type, must not be an internal error of the CPI, and must contain no secret. Returns the error's type,
 * or `result`.
 */
export function checkEnvelope(text: string): string {
  const response: unknown = JSON.parse(text);
  assert.ok(typeof response === 'object' && response !== null);
  assert.deepEqual(Object.keys(response).toSorted(), ['error', 'log', 'result']);
  const { result, error, log } = response as { result: unknown; error: unknown; log: unknown };
  assert.equal(typeof log, 'string');
  if (error === null) return 'result';
  assert.equal(result, null);
  assert.deepEqual(Object.keys(error as object).toSorted(), ['message', 'ok_to_retry', 'type']);
  const { type, message, ok_to_retry: retry } = error as Record<string, unknown>;
  assert.ok(typeof type === 'string' && types.has(type), `type ${String(type)}: ${String(message)}`);
  assert.ok(typeof message === 'string' && message !== '');
  assert.equal(typeof retry, 'boolean');
  assert.doesNotMatch(message, /a fault in the CPI/u);
  assert.ok(!message.includes(mbusPassword));
  return type.replace('Bosh::Clouds::', '');
}
