import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { test } from 'node:test';
import { clauses, notRun, notRunEverywhere } from './clauses.ts';

/**
 * Runs one clause of the list as a test, named by number and letter. It is skipped if the list has a reason
 * for that.
 */
export function clause(id: keyof typeof clauses, run: (context: TestContext) => Promise<void>): void {
  const title = clauses[id];
  assert.ok(title !== undefined, `there is no clause ${id}`);
  test(`${id} ${title}`, { skip: notRun[id] ?? false }, run);
}

/** Skips a clause whose requirements are not met here, with the reason that the list gives. */
export function skipHere(context: TestContext, id: keyof typeof notRunEverywhere): void {
  context.skip(notRunEverywhere[id] ?? assert.fail(`the list gives no reason to skip ${id}`));
}
