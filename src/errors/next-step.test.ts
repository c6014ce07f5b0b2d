import assert from 'node:assert/strict';
import { globSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';

// These two rooms create the errors that an operator of the CPI gets.
const rooms = ['src/cpi', 'src/kubernetes'];
const root = new URL('../../', import.meta.url);

/** Matches a clause with the next step, or with the rule for a value. */
const verbs =
  'add|ask|attach|bring|build|check|choose|correct|create|delete|detach|download|give|have|install|leave|let|look|make|' +
  'mend|name|put|raise|recreate|remove|rename|run|see|set|stop|switch|try|update|upgrade|use|write';
const step = new RegExp(
  `(?:[;,:.] |\\bor )(?:then )?(?:${verbs})\\b|\\b(?:has|have) to\\b|\\bneeds? (?:a|both)\\b|\\blists those\\b|\\bnothing to detach\\b`,
  'u',
);
/**
 * Text that already ends with a next step: another error's, the last state of a wait (wait.ts), a kubelet's
 * message (wait-until-running.ts).
 */
const passedOn =
  /\$\{(?:error\.message|whyAndNext|reasonAndNext|next|expected|words|args|description|directorFallbackHint|restoreHint|recreateHint|lastError)\}|^\s*(?:code|error\.code|'[A-Z_]+'|(?:isRetryable|retryable)[^,]*),\s*(?:message|error\.message|noSnapshotApi|clauses\.join\('; '\)|(?:ended|terminalError)\(.*|events === '' \? message.*)/su;

/** Returns the arguments of each `new ProductError(` in a source text. */
function errorsIn(source: string): string[] {
  const opening = 'new ProductError(';
  return source
    .split(opening)
    .slice(1)
    .map((rest) => {
      let depth = 1;
      const end = rest.split('').findIndex((character) => {
        if (character === '(') depth += 1;
        if (character === ')') depth -= 1;
        return depth === 0;
      });
      return rest.slice(0, end).replaceAll(/['`] \+\s*['`]/gu, '');
    });
}

const saysNothingToDo = (error: string): boolean => !step.test(error) && !passedOn.test(error);

test('each error of the CPI and of its Kubernetes client says what to do next', async () => {
  const files = rooms
    .flatMap((room) => globSync(`${room}/**/*.ts`, { cwd: root }))
    .filter((file) => !file.endsWith('.test.ts') && !file.includes('/testing/'));
  const sources = await Promise.all(
    files.map(async (file) => ({ file, errors: errorsIn(await readFile(new URL(file, root), 'utf8')) })),
  );
  const without = sources.flatMap(({ file, errors }) =>
    errors.filter(saysNothingToDo).map((error) => `${file}: ${error.trim()}`),
  );
  assert.ok(sources.flatMap(({ errors }) => errors).length > 80, 'the errors were found');
  assert.deepEqual(without, []);
});

test('the check finds an error without a next step', () => {
  const [cause, next] = errorsIn(`
    throw new ProductError('DISK_BUSY', \`disk '\${cid}' is in use (\${who})\`);
    throw new ProductError('DISK_BUSY', \`disk '\${cid}' is in use (\${who}); detach it first\`, { cause: error });`);
  assert.equal(saysNothingToDo(cause ?? ''), true);
  assert.equal(saysNothingToDo(next ?? ''), false);
});
