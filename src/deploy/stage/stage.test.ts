import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ProductError, isProductError } from '../../errors/product-error.ts';
import { PrintedStage } from './stage.ts';

function recorded(signal?: AbortSignal) {
  let time = 0;
  const written: string[] = [];
  const clock = {
    now: () => time,
    sleep: async (milliseconds: number) => void (time += milliseconds),
  };
  const write = (text: string) => void written.push(text);
  const stage = new PrintedStage({ clock, write, signal });
  return { stage, clock, written, text: () => written.join('') };
}

test('prints groups and steps as bosh does', async () => {
  const { stage, clock, text } = recorded();

  await stage.performComplex('validating', async (group) => {
    await group.perform("Validating release 'hello'", () => clock.sleep(1999));
  });
  await stage.perform("Uploading stemcell 's/1'", async (step) => step.skip('Stemcell already uploaded'));
  await stage.performComplex('deploying', async () => clock.sleep(61_000));
  await stage.perform('Cleaning up rendered CPI jobs', async () => undefined);

  assert.equal(
    text(),
    [
      '',
      'Started validating',
      "  Validating release 'hello'... Finished (00:00:01)",
      'Finished validating (00:00:01)',
      '',
      "Uploading stemcell 's/1'... Skipped [Stemcell already uploaded] (00:00:00)",
      '',
      'Started deploying',
      'Finished deploying (00:01:01)',
      '',
      'Cleaning up rendered CPI jobs... Finished (00:00:00)',
      '',
    ].join('\n'),
  );
});

test('shows a step before it has ended', async () => {
  const { stage, written } = recorded();

  await stage.perform('Creating disk', async () => assert.deepEqual(written, ['Creating disk...']));
});

test('prints Failed for the step and its group and passes the error on', async () => {
  const { stage, text } = recorded();
  const cause = new ProductError('DEADLINE', 'too late');

  const run = stage.performComplex('deploying', (group) =>
    group.perform('Creating disk', async () => {
      throw cause;
    }),
  );

  await assert.rejects(run, cause);
  assert.equal(
    text(),
    '\nStarted deploying\n  Creating disk... Failed (00:00:00)\nFailed deploying (00:00:00)\n',
  );
});

test('begins no step after an interrupt, except to clean up', async () => {
  const interrupt = new AbortController();
  const { stage, text } = recorded(interrupt.signal);
  interrupt.abort();

  const run = stage.perform('Creating disk', async () => assert.fail('must not run'));

  await assert.rejects(run, (error) => isProductError(error, 'INTERRUPTED'));
  await stage.perform('Cleaning up', async () => undefined, { always: true });
  assert.equal(text(), 'Cleaning up... Finished (00:00:00)\n');
});

test('what stays on a terminal is what a pipe gets, without the parts in between', async () => {
  const written: string[] = [];
  const shown: string[] = [];
  const clock = {
    now: () => 0,
    sleep: (_: number, signal?: AbortSignal) =>
      new Promise<void>((resolve) => signal?.addEventListener('abort', () => resolve())),
  };
  const stage = new PrintedStage({
    ...{ clock, write: (text: string) => void written.push(text) },
    live: (text: string) => void shown.push(text),
  });
  await stage.performComplex('deploying', async (group) => {
    await group.perform('Creating VM', async (step) => {
      step.onBytes?.(1);
      assert.deepEqual(shown, ['  Creating VM...']);
    });
  });
  assert.deepEqual(shown, ['  Creating VM...', '']);
  assert.deepEqual(written, [
    '\nStarted deploying\n',
    '  Creating VM... Finished (00:00:00)\n',
    'Finished deploying (00:00:00)\n',
  ]);
});
