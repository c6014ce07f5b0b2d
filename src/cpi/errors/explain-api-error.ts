import { ProductError } from '../../errors/product-error.ts';
import { type ApiError, isTransientStatus, type ApiRequest } from '../../kubernetes/client/api-error.ts';
import {
  belowRequest,
  isAdmissionRejection,
  limitsGivenBy,
  explainForbidden,
  type Explanation,
} from './explain-forbidden.ts';

/**
 * Turns an API error into a ProductError for a BOSH operator: the request and its object, the server's
 * message, the next step (apimachinery: pkg/api/errors/errors.go has the codes and reasons). `limitRange`
 * names the LimitRange that set a limit which the server refuses, if it is known (limit-range.ts).
 */
export function explainApiError(error: ApiError, limitRange?: string): ProductError {
  const { code, next } = explanation(error, limitRange);
  const requestText = error.request === undefined ? '' : `${describeRequest(error.request)} failed: `;
  const reason = `${error.code} ${error.reason}`;
  return new ProductError(
    code,
    `${requestText}the Kubernetes API answered ${reason}: ${messageOf(error)}; ${next}`,
    {
      cause: error,
    },
  );
}

function explanation(error: ApiError, limitRange?: string): Explanation {
  switch (error.code) {
    case 400:
    case 422:
      return invalid(error, limitRange);
    case 401:
      return {
        code: 'KUBERNETES_UNAUTHORIZED',
        next:
          'the credentials are wrong, have expired or are of another cluster: renew the token, the certificate or the login of the ' +
          "kubeconfig, or kubernetes.token and kubernetes.client_certificate; if the CPI uses a pod's service account, check that it still exists",
      };
    case 403:
      return explainForbidden(error);
    case 404:
      return explainNotFound(error);
    case 405:
    case 406:
    case 415:
      return {
        code: 'KUBERNETES_NOT_FOUND',
        next: 'the cluster does not serve this kind of request: check the version of Kubernetes',
      };
    case 409:
    case 410:
      return {
        code: 'KUBERNETES_CONFLICT',
        next: 'another client changed it at the same time: run the call again',
      };
    case 413:
      return {
        code: 'KUBERNETES_INVALID',
        next: 'the request is too large for the API: make the env or the metadata of the VM smaller',
      };
    default:
      // the server's own errors; other transient ones come from load, or from a proxy before the server
      if (error.code !== 500 && isTransientStatus(error.code)) return explainBusy;
      return { code: 'KUBERNETES_API', next: "check the API server's log, then run the call again" };
  }
}

function invalid(error: ApiError, limitRange?: string): Explanation {
  if (isAdmissionRejection(error)) return explainForbidden(error);
  const limited = limitsGivenBy(error);
  if (limited.length > 0) return belowRequest(error, limited, limitRange);
  return {
    code: 'KUBERNETES_INVALID',
    next: 'correct this value in the cloud_properties or in the properties of the CPI',
  };
}

const explainBusy: Explanation = {
  code: 'KUBERNETES_BUSY',
  next: 'check its load, and the log of a proxy or load balancer in front of it, then run the call again',
};

function explainNotFound({ status, message }: ApiError): Explanation {
  const { kind, name } = status.details ?? {};
  if (kind === 'namespaces' || /^namespaces "/u.test(message)) {
    const which = name === undefined ? 'the namespace' : `namespace ${name}`;
    return { code: 'KUBERNETES_NOT_FOUND', next: `create ${which} or correct kubernetes.namespace` };
  }
  if (name === undefined) {
    return {
      code: 'KUBERNETES_NOT_FOUND',
      next: 'the cluster does not serve this kind of object: check the version of Kubernetes, and which add-ons are installed',
    };
  }
  return {
    code: 'KUBERNETES_NOT_FOUND',
    next: 'it was deleted during the call, or never existed: run the call again',
  };
}

/** Returns the server's message, with the fields of an invalid object if its message does not name them. */
function messageOf({ message, status }: ApiError): string {
  const fields = (status.details?.causes ?? []).flatMap(({ field, message: cause }) =>
    field === undefined || message.includes(field)
      ? []
      : [cause === undefined ? field : `${field}: ${cause}`],
  );
  return [message, ...fields].join('; ');
}

const gerunds: Readonly<Record<ApiRequest['method'], string>> = {
  GET: 'reading',
  POST: 'creating',
  PUT: 'replacing',
  PATCH: 'changing',
  DELETE: 'deleting',
};

/**
 * Describes a request by its object: `creating pods in namespace bosh`, `deleting pods vm-1 in namespace
 * bosh`.
 */
export function describeRequest({ method, path }: ApiRequest): string {
  const parts =
    /^\/apis?\/(?:[^/]+\/)?v[^/]+(?:\/namespaces\/([^/]+))?\/([^/?]+)(?:\/([^/?]+))?(?:\/([^/?]+))?/u.exec(
      path,
    );
  if (parts === null) return `${gerunds[method]} ${path}`;
  const [, namespace, plural = '', name, subresource] = parts;
  const phrases = [
    subresource === undefined ? gerunds[method] : `using ${subresource} of`,
    plural,
    ...(name === undefined ? [] : [name]),
    ...(namespace === undefined ? [] : [`in namespace ${namespace}`]),
  ];
  return phrases.join(' ');
}
