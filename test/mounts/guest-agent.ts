// Runs in the guest: calls the function that a line of JSON names, and writes its result as another line.
import { connect } from 'node:net';
import { createInterface } from 'node:readline';
import { setTimeout as pause } from 'node:timers/promises';

interface Call {
  readonly id: number;
  readonly module: string;
  readonly name: string;
  readonly args: readonly unknown[];
}

async function answer(line: string): Promise<void> {
  const { id, module, name, args } = JSON.parse(line) as Call;
  try {
    const functions = (await import(module)) as Record<string, (...args: readonly unknown[]) => unknown>;
    const value = await functions[name]?.(...args);
    write({ id, value });
  } catch (error) {
    const { message, code } = error as NodeJS.ErrnoException;
    write({ id, error: { message, code } });
  }
}

const write = (reply: object): void => void process.stdout.write(`${JSON.stringify(reply)}\n`);

/** Connects as soon as the server listens. The host has a deadline. */
async function reach(port: number): Promise<void> {
  for (;;) {
    const socket = connect({ host: '192.168.77.1', port });
    const isUp = await new Promise<boolean>((resolve) => {
      socket.once('connect', () => resolve(true));
      socket.once('error', () => resolve(false));
    });
    socket.destroy();
    if (isUp) return;
    await pause(100);
  }
}

await Promise.all([reach(2049), reach(445)]);
write({ id: 0 });
for await (const line of createInterface({ input: process.stdin })) void answer(line);
