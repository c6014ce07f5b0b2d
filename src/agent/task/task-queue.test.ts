import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isProductError } from '../../errors/product-error.ts';
import { TaskQueue } from './task-queue.ts';

function queue(remembered = 100): TaskQueue {
  let last = 0;
  return new TaskQueue({ newId: () => String(++last), remembered });
}

test('runs one task at a time, in order, even after a failed one', async () => {
  const tasks = queue();
  const order: string[] = [];
  const gate = Promise.withResolvers<void>();
  const first = tasks.add(async () => {
    order.push('first begins');
    await gate.promise;
    order.push('first ends');
    throw new Error('it broke');
  }, false);
  const second = tasks.add(async () => order.push('second'), false);
  assert.deepEqual(tasks.outcome(second), { state: 'running' });
  gate.resolve();
  await tasks.finished(second);
  assert.deepEqual(order, ['first begins', 'first ends', 'second']);
  const outcome = tasks.outcome(first);
  assert.ok(
    outcome.state === 'failed' && outcome.error instanceof Error && outcome.error.message === 'it broke',
  );
});

test('forgets the oldest finished tasks only', async () => {
  const tasks = queue(2);
  const ids = [1, 2, 3, 4].map((value) => tasks.add(async () => value, false));
  await tasks.finished(ids.at(-1) ?? '');
  assert.throws(
    () => tasks.outcome(ids[0] ?? ''),
    (error) => isProductError(error, 'AGENT_TASK_UNKNOWN'),
  );
  assert.deepEqual(tasks.outcome(ids[3] ?? ''), { state: 'done', value: 4 });
});

test('cancels cancellable tasks, even before they begin', async () => {
  const tasks = queue();
  const running = tasks.add((signal) => {
    const { promise, reject } = Promise.withResolvers<never>();
    signal.addEventListener('abort', () => reject(new Error('aborted')));
    return promise;
  }, true);
  const waiting = tasks.add(async () => 'never', true);
  const stubborn = tasks.add(async () => 'done', false);
  tasks.cancel(waiting);
  assert.throws(() => tasks.cancel(stubborn), /cannot be cancelled/);
  await Promise.resolve();
  tasks.cancel(running);
  await tasks.finished(stubborn);
  assert.deepEqual(
    [running, waiting, stubborn].map((id) => tasks.outcome(id).state),
    ['failed', 'failed', 'done'],
  );
});
