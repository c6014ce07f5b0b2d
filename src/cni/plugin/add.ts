import { assertNamespaceAllowed, requestedAddresses, resultAddresses } from './requested-addresses.ts';
import {
  argumentsWithAddress,
  ipRequestMethod,
  delegateConfig,
  delegateConfigFor,
} from '../delegate/delegate-config.ts';
import { CniError, cniErrorCode } from '../cni-error.ts';
import { type DelegateContext, callDelegate } from '../delegate/run-delegate.ts';
import { type JsonObject, isObject, tryParseJson } from '../../platform/json.ts';
import type { NetworkConfig } from './config.ts';

/**
 * Implements ADD: returns the delegate's result unchanged once it contains the addresses that the pod
 * requests. If the delegate assigned others, its work is undone and ADD fails. Rejects a pod whose namespace
 * may not request addresses.
 */
export async function add(context: DelegateContext, config: NetworkConfig): Promise<string> {
  const addresses = requestedAddresses(config.runtimeConfig);
  if (addresses === undefined) return callDelegate(context, config, delegateConfig(config));
  assertNamespaceAllowed(config, context.environment, addresses);
  const { request, input } = prepareAdd(context, config, addresses);
  const stdout = await withAddresses(callDelegate(request, config, input), addresses, config);
  const result = tryParseJson(stdout);
  const given = isObject(result) ? resultAddresses(result) : [];
  const missing = addresses.filter((address) => !given.includes(address));
  if (missing.length === 0) return stdout;
  const remaining = await undoAdd(context, config, result);
  throw new CniError(
    cniErrorCode.addressNotGiven,
    `the plugin '${config.delegate.type}' gave ${given.join(' and ') || 'no address'} instead of ${addresses.join(' and ')}: ` +
      "its IPAM plugin takes no requests, or takes them in another way (see 'request' of static-ip's configuration)",
    remaining,
  );
}

interface AddInput {
  readonly request: DelegateContext;
  readonly input: JsonObject;
}

function prepareAdd(context: DelegateContext, config: NetworkConfig, addresses: readonly string[]): AddInput {
  const method = ipRequestMethod(config);
  const input = delegateConfigFor(config, addresses, method);
  if (method !== 'CNI_ARGS') return { request: context, input };
  const [address = '', ...more] = addresses;
  if (more.length > 0)
    throw new CniError(
      cniErrorCode.addressInvalid,
      `the pod requests ${addresses.join(' and ')}, but this network's IPAM plugin reads CNI_ARGS, which can have one address only`,
    );
  const CNI_ARGS = argumentsWithAddress(context.environment['CNI_ARGS'], address);
  return { request: { ...context, environment: { ...context.environment, CNI_ARGS } }, input };
}

/** Puts the requested addresses in front of the delegate's error; its code and details stay. */
async function withAddresses<T>(
  work: Promise<T>,
  addresses: readonly string[],
  { delegate: { type } }: NetworkConfig,
): Promise<T> {
  try {
    return await work;
  } catch (error) {
    if (!(error instanceof CniError)) throw error;
    throw new CniError(
      error.code,
      `the plugin '${type}' did not give the fixed address ${addresses.join(' and ')}: ${error.message}`,
      error.details,
    );
  }
}

/**
 * Returns the error of a failed undo, for the details of the main error: the runtime also calls DEL after a
 * failed ADD.
 */
async function undoAdd(
  context: DelegateContext,
  config: NetworkConfig,
  prevResult: unknown,
): Promise<string> {
  const environment = { ...context.environment, CNI_COMMAND: 'DEL' };
  const input = { ...delegateConfig(config), ...(isObject(prevResult) && { prevResult }) };
  try {
    await callDelegate({ ...context, environment }, config, input);
    return '';
  } catch (error) {
    if (!(error instanceof CniError)) throw error;
    return `DEL after the failed ADD failed, too: ${error.message}`;
  }
}
