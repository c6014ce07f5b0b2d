import { readFile } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import { ProductError } from '../../errors/product-error.ts';
import { parseBrokerConfig } from './config.ts';
import type { CommandIo } from './run-ports.ts';
import { untilAborted } from './run-ports.ts';
import { startBroker } from './start-broker.ts';
import { runBrokerDemo } from './try-broker.ts';

export const brokerUsage = 'broker --config FILE | broker --try';

/**
 * Runs a broker until `signal` is aborted. Its configuration is in the file of `--config`, or in
 * BROKER_CONFIG of the environment. `--try` instead runs the demo: a broker in a scratch directory and the
 * life of a binding. Returns the exit code.
 */
export async function runBroker(words: readonly string[], ports: CommandIo): Promise<number> {
  const { config, isTry } = parseWords(words);
  if (isTry) return runBrokerDemo(ports);
  const { environment, out, signal } = ports;
  const text = config === undefined ? environment['BROKER_CONFIG'] : await readConfig(config);
  if (text === undefined)
    throw new ProductError(
      'INVALID_ARGUMENT',
      `volumes broker wants a configuration, by --config or in BROKER_CONFIG. Usage: ${brokerUsage}`,
    );
  const running = await startBroker(parseBrokerConfig(text, environment), out);
  await untilAborted(signal);
  await running.stop();
  return 0;
}

function parseWords(words: readonly string[]): { config: string | undefined; isTry: boolean } {
  const options = { config: { type: 'string' }, try: { type: 'boolean' } } as const;
  try {
    const { config, try: isTry = false } = parseArgs({ args: [...words], options, strict: true }).values;
    if (!(isTry && config !== undefined)) return { config, isTry };
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
  }
  throw new ProductError('INVALID_ARGUMENT', `volumes takes: ${brokerUsage}`);
}

/** Reads the text of a configuration. */
export async function readConfig(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    throw new ProductError(
      'FILE_NOT_FOUND',
      `the configuration '${path}' of the volume broker cannot be read; docs/volumes/broker.md shows one`,
      {
        cause: error,
      },
    );
  }
}
