import {
  supportedVersions,
  type CniVersion,
  newestVersion,
  isSupported,
  isAtLeast,
  type Environment,
  type Verb,
  parseEnvironment,
  type NetworkConfig,
  parseNetworkConfig,
} from './config.ts';
import { CniError, cniErrorCode, errorObject } from '../cni-error.ts';
import { type RunDelegate, callDelegate, type DelegateContext } from '../delegate/run-delegate.ts';
import { delegateConfig } from '../delegate/delegate-config.ts';
import { isObject, tryParseJson } from '../../platform/json.ts';
import { add } from './add.ts';
import { requestedAddresses, resultAddresses } from './requested-addresses.ts';

export interface PluginCall {
  readonly environment: Environment;
  /** Reads stdin to its end. Rejects if it cannot be read. */
  readonly readInput: () => Promise<string>;
  readonly run: RunDelegate;
}

export interface PluginAnswer {
  readonly stdout: string;
  readonly exitCode: 0 | 1;
}

/**
 * Handles one call of the plugin. Any error becomes one CNI error object on stdout and exit code 1; never
 * rejects.
 */
export async function answerCall(call: PluginCall): Promise<PluginAnswer> {
  let cniVersion: CniVersion = newestVersion;
  try {
    const { verb, path } = parseEnvironment(call.environment);
    const input = await readInput(call);
    cniVersion = versionOf(input);
    const stdout =
      verb === 'VERSION' ? versionResult(cniVersion) : await runVerb(verb, { ...call, path }, input);
    return { stdout, exitCode: 0 };
  } catch (error) {
    return { stdout: errorObject(cniVersion, asCniError(error)), exitCode: 1 };
  }
}

/** The version of the spec that introduced each verb. */
const verbsSince: Readonly<Record<Exclude<Verb, 'VERSION'>, CniVersion>> = {
  ADD: '0.3.0',
  DEL: '0.3.0',
  CHECK: '0.4.0',
  GC: '1.1.0',
  STATUS: '1.1.0',
};

async function runVerb(
  verb: Exclude<Verb, 'VERSION'>,
  context: PluginCall & { readonly path: readonly string[] },
  input: string,
): Promise<string> {
  const config = parseNetworkConfig(input);
  if (!isAtLeast(config.cniVersion, verbsSince[verb]))
    throw new CniError(
      cniErrorCode.incompatibleVersion,
      `there is no ${verb} in version ${config.cniVersion} of the CNI spec: it was added in ${verbsSince[verb]}`,
    );
  switch (verb) {
    case 'ADD':
      return add(context, config);
    case 'CHECK':
      return check(context, config);
    case 'DEL':
    case 'GC':
      return callDelegate(context, config, delegateConfig(config));
    case 'STATUS':
      return status(context, config);
    default:
      return verb satisfies never;
  }
}

/** Implements STATUS. A missing delegate means that no pod can be added now. */
async function status(context: Parameters<typeof callDelegate>[0], config: NetworkConfig): Promise<string> {
  try {
    return await callDelegate(context, config, delegateConfig(config));
  } catch (error) {
    if (!(error instanceof CniError) || error.code !== cniErrorCode.invalidConfig) throw error;
    throw new CniError(cniErrorCode.notAvailable, error.message, error.details);
  }
}

/** Returns the caller's version if it is supported, for the response. */
function versionOf(input: string): CniVersion {
  const config = tryParseJson(input);
  return isObject(config) && isSupported(config['cniVersion']) ? config['cniVersion'] : newestVersion;
}

const versionResult = (cniVersion: CniVersion): string =>
  `${JSON.stringify({ cniVersion, supportedVersions })}\n`;

async function readInput({ readInput: read }: PluginCall): Promise<string> {
  try {
    return await read();
  } catch (error) {
    throw new CniError(cniErrorCode.inputOutput, `stdin cannot be read: ${messageOf(error)}`);
  }
}

function asCniError(error: unknown): CniError {
  return error instanceof CniError
    ? error
    : new CniError(cniErrorCode.delegateFailed, `static-ip failed: ${messageOf(error)}`);
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/**
 * Implements CHECK: the result of ADD contains the addresses that the pod requests, and the CHECK of the
 * delegate succeeds.
 */
export async function check(context: DelegateContext, config: NetworkConfig): Promise<string> {
  const { prevResult } = config.all;
  if (!isObject(prevResult))
    throw new CniError(cniErrorCode.invalidConfig, `CHECK of network ${config.name} needs a prevResult`);
  const given = resultAddresses(prevResult);
  const missing = (requestedAddresses(config.runtimeConfig) ?? []).filter(
    (address) => !given.includes(address),
  );
  if (missing.length > 0)
    throw new CniError(
      cniErrorCode.addressNotGiven,
      `the pod requests ${missing.join(' and ')} and has ${given.join(' and ') || 'no address'}: recreate it`,
    );
  return callDelegate(context, config, delegateConfig(config));
}
