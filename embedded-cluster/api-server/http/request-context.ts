import type { IncomingMessage, ServerResponse } from 'node:http';
import type { PodConsole } from '../../node/pod-console.ts';
import type { User } from '../access/user.ts';
import { badRequest, methodNotAllowed } from '../errors/status-errors.ts';
import type { Location, Registry, WriteOptions } from '../registry/registry.ts';
import type { ParsedJson } from '../schema/parse-json.ts';
import type { StoredObject } from '../store/stored-object.ts';
import { booleanParameter, integerParameter, isDryRun } from './query.ts';
import { readBody, readObject } from './request-body.ts';
import type { ResourceRoute } from './resource-route.ts';
import { addWarning, writeJson } from './response.ts';
import { formatObject, type IncludeObject, negotiate, type ResponseFormat } from './response-format.ts';

interface ContextParts {
  readonly registry: Registry;
  readonly console: PodConsole;
  readonly user: User;
  readonly route: ResourceRoute;
  readonly query: URLSearchParams;
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

/** An authorized request for objects of a kind, with its response. */
export class RequestContext {
  readonly registry: Registry;
  readonly console: PodConsole;
  readonly user: User;
  readonly route: ResourceRoute;
  readonly query: URLSearchParams;
  readonly request: IncomingMessage;
  readonly response: ServerResponse;

  constructor(parts: ContextParts) {
    this.registry = parts.registry;
    this.console = parts.console;
    this.user = parts.user;
    this.route = parts.route;
    this.query = parts.query;
    this.request = parts.request;
    this.response = parts.response;
  }

  /** The object that the URL names; its name is empty if the URL names a collection. */
  get location(): Location {
    return { namespace: this.route.namespace, name: this.route.name ?? '' };
  }

  /** Throws ApiError 405 for another method. */
  assertMethod(method: string): void {
    if (this.request.method !== method) throw methodNotAllowed();
  }

  /** Returns true if the query sets the flag. Throws ApiError 400. */
  hasFlag(name: string): boolean {
    return booleanParameter(this.query, name) === true;
  }

  /** Returns the number of a query parameter; undefined if it is absent. Throws ApiError 400. */
  integer(name: string): number | undefined {
    return integerParameter(this.query, name);
  }

  /** Throws ApiError 422 for a value that the API does not know. */
  get isDryRun(): boolean {
    return isDryRun(this.query.getAll('dryRun'));
  }

  /** Reads the object in the body. Throws ApiError (request-body.ts). */
  readObject(): Promise<unknown> {
    return readObject(this.request);
  }

  /** Like `readObject`, and also returns the duplicate members of the text. */
  readBody(): Promise<ParsedJson | undefined> {
    return readBody(this.request);
  }

  /** Returns the options of a write of that body. Warnings are added to the response. */
  writeOptions(body: ParsedJson | undefined): WriteOptions & { readonly user: User } {
    return {
      dryRun: this.isDryRun,
      user: this.user,
      decoding: { duplicates: body?.duplicates ?? [] },
      warn: (message) => addWarning(this.response, message),
    };
  }

  /** Throws ApiError 400 and 406 if the response cannot be represented. To be called before a write. */
  assertAcceptable(): void {
    this.negotiateFormat();
  }

  /** Returns the representation that the client requests. Throws ApiError 400 and 406. */
  negotiateFormat(): ResponseFormat {
    return {
      kind: this.route.kind,
      representation: negotiate(this.request.headers.accept),
      includeObject: this.#includeObject(),
      now: () => this.registry.clock.now(),
    };
  }

  /** Returns which part of the object a row of a table carries. Throws ApiError 400. */
  #includeObject(): IncludeObject {
    const value = this.query.get('includeObject') ?? '';
    if (value === '') return 'Metadata';
    if (value === 'None' || value === 'Metadata' || value === 'Object') return value;
    throw badRequest(
      `unrecognized value for includeObject: ${JSON.stringify(value)}; supported are None, Metadata and Object`,
    );
  }

  /** Responds with JSON. */
  writeJson(code: number, body: unknown): void {
    writeJson(this.response, code, body);
  }

  /** Responds with an object in the client's representation. */
  writeObject(code: number, object: StoredObject): void {
    this.writeJson(code, formatObject(this.negotiateFormat(), object));
  }
}
