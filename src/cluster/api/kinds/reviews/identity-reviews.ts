import { authenticatedGroup } from '../../access/user.ts';
import type { User } from '../../access/user.ts';
import { required } from '../../errors/field-causes.ts';
import type { JsonRecord } from '../../schema/json.ts';
import { fields, flag, listOf, mapOf, text } from '../../schema/schema.ts';
import { tokenIssuer, TokenProblem, verifyAccountToken } from '../../tokens/account-token.ts';
import type { Draft } from '../kind.ts';
import { reviewKind } from './review-kind.ts';

const group = 'authentication.k8s.io';
const userInfo = fields({ username: text, uid: text, groups: listOf(text), extra: mapOf(listOf(text)) });

const infoOf = ({ name, uid, groups, extra }: User): JsonRecord => ({
  username: name,
  ...(uid === undefined ? {} : { uid }),
  groups: [...groups],
  ...(extra === undefined ? {} : { extra }),
});

/** `kubectl auth whoami` */
export const selfSubjectReviewKind = reviewKind(group, 'SelfSubjectReview', {
  status: fields({ userInfo }),
  validate: () => [],
  review: (_draft, { user }) => ({ userInfo: infoOf(user) }),
});

const specOf = (draft: Draft): { token?: string; audiences?: string[] } => draft['spec'] ?? {};

/** Tokens of service accounts; the administrator's own is nobody else's business. */
export const tokenReviewKind = reviewKind(group, 'TokenReview', {
  spec: fields({ token: text, audiences: listOf(text) }),
  status: fields({ authenticated: flag, user: userInfo, audiences: listOf(text), error: text }),
  validate: (draft) => ((specOf(draft).token ?? '') === '' ? [required('spec.token')] : []),
  review: (draft, { registry }) => {
    const { token = '', audiences: wanted = [tokenIssuer] } = specOf(draft);
    try {
      const { user, audiences } = verifyAccountToken(registry, token, wanted);
      const whole = { ...user, groups: [...user.groups, authenticatedGroup] };
      return { authenticated: true, user: infoOf(whole), audiences };
    } catch (error) {
      if (!(error instanceof TokenProblem)) throw error;
      return { authenticated: false, error: error.message };
    }
  },
});
