import assert from 'node:assert/strict';

const harm = /the disk has lost|the disk is damaged|the volume was harmed/u;

/**
 * Returns true if the error is that of a data-survival test for lost or damaged data. Fails with the error
 * itself otherwise.
 */
export function isHarm(error: unknown): boolean {
  assert.ok(error instanceof assert.AssertionError, String(error));
  assert.match(error.message, harm);
  return true;
}
