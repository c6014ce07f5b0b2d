import assert from 'node:assert/strict';

const harm = /the disk has lost|the disk is damaged|the volume was harmed/u;

/** Whether that is what a data-survival test says of lost or damaged data; fails with the error itself where it is not. */
export function isHarm(error: unknown): boolean {
  assert.ok(error instanceof assert.AssertionError, String(error));
  assert.match(error.message, harm);
  return true;
}
