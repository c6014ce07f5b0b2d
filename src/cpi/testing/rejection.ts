import assert from 'node:assert/strict';
import type { ErrorCode } from '../../errors/error-table.ts';
import { isProductError } from '../../errors/product-error.ts';

/** Returns a check for assert.rejects: a ProductError of that code whose message matches all patterns. */
export const rejection =
  (code: ErrorCode, ...messages: readonly RegExp[]) =>
  (error: unknown): true => {
    assert.ok(isProductError(error, code), String(error));
    for (const message of messages) assert.match(error.message, message);
    return true;
  };
