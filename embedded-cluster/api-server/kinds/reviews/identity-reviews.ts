import type { User } from '../../access/user.ts';
import type { JsonRecord } from '../../schema/json.ts';
import { fields, array, mapOf, string } from '../../schema/schema.ts';
import { reviewKind } from './review-kind.ts';

const group = 'authentication.k8s.io';
const userInfo = fields({
  username: string,
  uid: string,
  groups: array(string),
  extra: mapOf(array(string)),
});

const infoOf = ({ name, uid, groups, extra }: User): JsonRecord => ({
  username: name,
  ...(uid === undefined ? {} : { uid }),
  groups: [...groups],
  ...(extra === undefined ? {} : { extra }),
});

/** Used by `kubectl auth whoami`. */
export const selfSubjectReviewKind = reviewKind(group, 'SelfSubjectReview', {
  status: fields({ userInfo }),
  validate: () => [],
  review: (_draft, { user }) => ({ userInfo: infoOf(user) }),
});
