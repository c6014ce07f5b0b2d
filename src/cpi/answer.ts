import { isProductError, ProductError } from '../errors/product-error.ts';
import type { OpenCall, OpenCallOptions } from './open-call.ts';
import type { Arguments } from './protocol/arguments.ts';
import { CallRecorder } from './protocol/call-recorder.ts';
import {
  infoMethod,
  isMethodName,
  loadMethod,
  type MethodName,
  offlineMethods,
  stemcellFormats,
  unsupportedMethods,
} from './protocol/methods.ts';
import {
  type CpiRequest,
  type CpiResponse,
  checkApiVersion,
  errorResponse,
  newestApiVersion,
  parseRequest,
  successResponse,
} from './protocol/protocol.ts';

export interface AnswerDependencies {
  /** Reads the text of the config file; undefined if no file was given. */
  readonly readConfig: () => Promise<string | undefined>;
  readonly openCall: (options: Omit<OpenCallOptions, 'environment' | 'reportProgress'>) => Promise<OpenCall>;
}

/**
 * Returns the response to one request; never rejects. `info` and unknown methods read no configuration and
 * load nothing, so they work whatever else is broken. `recorder` gets what the record of the call tells.
 */
export async function answerRequest(
  input: string | Promise<string>,
  dependencies: AnswerDependencies,
  recorder = new CallRecorder(),
): Promise<CpiResponse> {
  try {
    const request = parseRequest(await input);
    recorder.setRequest(request);
    if (request.method === infoMethod) {
      return successResponse({ api_version: newestApiVersion, stemcell_formats: stemcellFormats }, '');
    }
    const method = methodOf(request);
    checkApiVersion(request.apiVersion);
    return await callVerb(method, request, dependencies, recorder);
  } catch (error) {
    return errorResponse(error, (message) => message);
  }
}

function methodOf({ method }: CpiRequest): MethodName {
  if (unsupportedMethods.includes(method)) {
    throw new ProductError(
      'NOT_SUPPORTED',
      `${method} is no longer part of the CPI contract; update the caller`,
    );
  }
  if (!isMethodName(method))
    throw new ProductError(
      'NOT_IMPLEMENTED',
      `this CPI has no method "${method.slice(0, 100)}"; see docs/cpi/README.md for its methods`,
    );
  return method;
}

/**
 * Runs the verb. From here on the request's env and the configuration are known, so messages are redacted
 * with their secrets. Cids lose their context here and get it back in the result; verbs see object names
 * only.
 */
async function callVerb(
  method: MethodName,
  request: CpiRequest,
  dependencies: AnswerDependencies,
  recorder: CallRecorder,
): Promise<CpiResponse> {
  let file: unknown;
  let openCall: OpenCall | undefined;
  let args: Arguments | undefined;
  try {
    const configText = await dependencies.readConfig();
    const [{ Arguments }, readCall, { ObservedCall }, { redactedProgress }] = await Promise.all([
      import('./protocol/arguments.ts'),
      loadMethod(method),
      import('./record/observed-call.ts'),
      import('./protocol/redacted-progress.ts'),
    ]);
    // parsed before the arguments are read, so that the redactor knows its secrets
    file = parseConfigFile(configText);
    args = new Arguments(method, request.arguments);
    recorder.cids = args.cids;
    const runVerb = readCall(args);
    const { context } = request;
    openCall = await dependencies.openCall({ file, context, contextName: args.context, method });
    const observed = new ObservedCall(openCall.call, recorder.time);
    recorder.observation = observed;
    const say = redactedProgress(openCall.call.reportProgress, () => createRedactor(file, request, openCall));
    const result = await runVerb({ ...observed.call, reportProgress: say });
    const log = openCall.log();
    const redact = log === '' ? undefined : await createRedactor(file, request, openCall);
    return successResponse(result, redact?.(log) ?? '');
  } catch (error) {
    const [redact, { isApiError }, { explainApiError }] = await Promise.all([
      createRedactor(file, request, openCall),
      import('../kubernetes/client/api-error.ts'),
      import('./errors/explain-api-error.ts'),
    ]);
    const known = isApiError(error) ? explainApiError(error) : error;
    const isDiskNamespace = isInputError(known) || offlineMethods.includes(method);
    const location = {
      contextName: args?.context,
      namespace: isDiskNamespace ? undefined : openCall?.call.namespace,
    };
    return {
      ...errorResponse(known, (message) => redact(withNamespace(message, location))),
      log: redact(openCall?.log() ?? ''),
    };
  } finally {
    openCall?.close();
  }
}

/** Loads the redactor only if there is a text to redact: most calls write none. */
async function createRedactor(
  file: unknown,
  request: CpiRequest,
  openCall: OpenCall | undefined,
): Promise<(text: string) => string> {
  const [{ redactor }, { secretsOfConfig }] = await Promise.all([
    import('../errors/redact/redactor.ts'),
    import('./config/config-secrets.ts'),
  ]);
  const secrets = [
    secretsOfConfig(file),
    secretsOfConfig(request.context),
    openCall?.secrets() ?? Promise.resolve([]),
  ];
  return redactor(await Promise.all(secrets), request.arguments[5]);
}

interface ErrorScope {
  readonly contextName: string | undefined;
  readonly namespace: string | undefined;
}

/**
 * Invalid arguments and an invalid configuration are invalid in every namespace, so these errors do not name
 * one.
 */
const isInputError = (error: unknown): boolean => isProductError(error) && error.code.startsWith('INVALID_');

/** Adds the namespace and the cluster to a message, for an operator who has several of them. */
function withNamespace(message: string, { contextName, namespace }: ErrorScope): string {
  if (message === '') return message;
  const where = [
    ...(namespace === undefined || message.includes(`namespace ${namespace}`)
      ? []
      : [`namespace ${namespace}`]),
    ...(contextName === undefined ? [] : [`context '${contextName}'`]),
  ];
  return where.length === 0 ? message : `${message} (${where.join(', ')})`;
}

function parseConfigFile(text: string | undefined): unknown {
  if (text === undefined) return {};
  try {
    return JSON.parse(text);
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    // the parser quotes the text, which contains credentials
    throw new ProductError(
      'INVALID_CONFIG',
      'the config file of the CPI is not JSON; use the file that the job kubernetes_cpi renders',
    );
  }
}
