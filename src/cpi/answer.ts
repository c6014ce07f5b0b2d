import { isProductError, ProductError } from '../errors/product-error.ts';
import type { Verb } from './cloud.ts';
import { infoMethod, localMethods, methods, stemcellFormats, unsupportedMethods } from './methods.ts';
import type { CpiRequest, CpiResponse } from './protocol.ts';
import { checkApiVersion, failure, newestApiVersion, parseRequest, success } from './protocol.ts';
import { redactedSay } from './redacted-say.ts';
import type { Session, SessionOptions } from './session.ts';

export interface AnswerPorts {
  /** Text of the config file; undefined when none was given. */
  readonly readConfig: () => Promise<string | undefined>;
  readonly openSession: (options: Omit<SessionOptions, 'environment' | 'say'>) => Promise<Session>;
}

/**
 * The response to one request; never rejects. `info` and unknown methods read no configuration and load nothing, so
 * they work whatever is broken.
 */
export async function answer(input: string | Promise<string>, ports: AnswerPorts): Promise<CpiResponse> {
  try {
    const request = parseRequest(await input);
    if (request.method === infoMethod) {
      return success({ api_version: newestApiVersion, stemcell_formats: stemcellFormats }, '');
    }
    const load = verbOf(request.method);
    checkApiVersion(request.apiVersion);
    return await callVerb(load, request, ports);
  } catch (error) {
    return failure(error, (message) => message);
  }
}

function verbOf(method: string): () => Promise<Verb> {
  if (unsupportedMethods.includes(method)) {
    throw new ProductError(
      'NOT_SUPPORTED',
      `${method} is not part of the CPI contract any more; update the caller`,
    );
  }
  const load = methods.get(method);
  if (load === undefined)
    throw new ProductError(
      'NOT_IMPLEMENTED',
      `this CPI has no method "${method.slice(0, 100)}"; docs/cpi.md lists those that it has`,
    );
  return load;
}

/**
 * From here on the request's env and the configuration are known, so that messages can be cleared of them.
 * The context of the call is found here, once for all verbs: they see names, callers see cids.
 */
async function callVerb(
  load: () => Promise<Verb>,
  request: CpiRequest,
  ports: AnswerPorts,
): Promise<CpiResponse> {
  let file: unknown;
  let session: Session | undefined;
  let contextName: string | undefined;
  try {
    const configText = await ports.readConfig();
    const [{ resolveCall, resultInContext }, { signatures }, verb] = await Promise.all([
      import('./call/resolve-call.ts'),
      import('./call/signatures.ts'),
      load(),
    ]);
    const { method, context } = request;
    const signature = signatures.get(method);
    if (signature === undefined) throw new TypeError(`the method ${method} has no signature`);
    const call = resolveCall(method, signature, request.arguments);
    contextName = call.contextName;
    file = parseFile(configText);
    session = await ports.openSession({ file, context, contextName, method });
    const say = redactedSay(session.cloud.say, () => redactorOf(file, request, session));
    const result = await verb({ ...session.cloud, say }, call.arguments);
    const log = session.log();
    const redact = log === '' ? undefined : await redactorOf(file, request, session);
    return success(resultInContext(signature, result, contextName), redact?.(log) ?? '');
  } catch (error) {
    const [redact, { isApiError }, { explainApiError }] = await Promise.all([
      redactorOf(file, request, session),
      import('../kubernetes/api-error.ts'),
      import('./failure/explain-api-error.ts'),
    ]);
    const known = isApiError(error) ? explainApiError(error) : error;
    const isElsewhere = isAboutInput(known) || localMethods.includes(request.method);
    const place = { contextName, namespace: isElsewhere ? undefined : session?.cloud.namespace };
    return {
      ...failure(known, (message) => redact(inPlace(message, place))),
      log: redact(session?.log() ?? ''),
    };
  } finally {
    session?.close();
  }
}

/** Loaded only where there is something to clear: most calls write no text. */
async function redactorOf(
  file: unknown,
  request: CpiRequest,
  session: Session | undefined,
): Promise<(text: string) => string> {
  const [{ redactor }, { secretsOf }] = await Promise.all([
    import('../errors/redact/redactor.ts'),
    import('./secrets-of.ts'),
  ]);
  const secrets = [secretsOf(file), secretsOf(request.context), session?.secrets() ?? Promise.resolve([])];
  return redactor(await Promise.all(secrets), request.arguments[5]);
}

interface Place {
  readonly contextName: string | undefined;
  readonly namespace: string | undefined;
}

/** What is wrong with arguments or configuration is so in every namespace. */
const isAboutInput = (error: unknown): boolean => isProductError(error) && error.code.startsWith('INVALID_');

/** An operator with several namespaces and clusters has to know which one a message is about. */
function inPlace(message: string, { contextName, namespace }: Place): string {
  if (message === '') return message;
  const where = [
    ...(namespace === undefined || message.includes(`namespace ${namespace}`)
      ? []
      : [`namespace ${namespace}`]),
    ...(contextName === undefined ? [] : [`context '${contextName}'`]),
  ];
  return where.length === 0 ? message : `${message} (${where.join(', ')})`;
}

function parseFile(text: string | undefined): unknown {
  if (text === undefined) return {};
  try {
    return JSON.parse(text);
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    // the parser quotes the text, which holds credentials
    throw new ProductError(
      'INVALID_CONFIG',
      'the config file of the CPI is not JSON; it has to be what the job kubernetes_cpi renders',
    );
  }
}
