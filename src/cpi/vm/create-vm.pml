/* create_vm calls for VMs that request one address: adoption, failure path, replacement of a VM that a killed
 * create_vm left; besides, attach_disk (both strategies), set_vm_metadata and delete_vm. All VMs are of one
 * deployment.
 *
 * Function: src/cpi/vm/create-vm.ts#createVm
 * Function: src/cpi/vm/create-vm.ts#ensureVm
 * Function: src/cpi/vm/creation.ts#markCreated
 * Function: src/cpi/vm/unfinished-vm.ts#removeUnfinished
 * Function: src/cpi/vm/delete-vm.ts#removeVm
 * Function: src/cpi/vm/address-owners.ts#assertAddressesUnique
 *
 * Steps: hold = findAddressOwners (one list), look = readVmState (pod, Secret, attachments: three reads), abandon,
 * resume, rm = removeVm, secret and pod = ensureVm (a create, then a get if the name exists), other =
 * assertAddressesUnique, run = waitUntilRunning, mark = markCreated. The first check of findAddressOwners is left out:
 * removeUnfinished checks again and decides.
 *
 * Bounds: NCALL callers make OPS calls each, for one of AGENTS agent ids, which they choose; KILLS of them
 * are killed at any step; FAILS waits, or marks whose response is lost, end in an error. When all have ended, a
 * last call for one more agent id is made without kills and errors. ATT, META, DEL: how many attach_disk,
 * set_vm_metadata and delete_vm calls there are.
 *
 * Properties: a create_vm never removes a VM for which a create_vm has answered success (except for delete_vm),
 * nor one that had a disk or metadata when it was abandoned; success is answered only for a VM that exists
 * and is marked, unless delete_vm deletes it; two VMs for which success was answered never have the address at once;
 * the last call gets the address, or a VM that is kept has it.
 *
 * Each of these flags removes a remedy: NOLOOK (assertAddressesUnique), BYNAME (ensureVm removes the VM that it
 * read, by its Secret's uid), NOVERSION (abandon on the version that was read), NOMARK (the mark is not
 * checked), UNCONDITIONAL (the mark is written without a check of the version), ONELOOK (the second check
 * after abandon).
 *
 * Abstractions: one API call is one atomic step; a resourceVersion is "changed since I read it"; a wait for the
 * deletion of a pod is never stale; a pod runs as soon as it is made; uids are small numbers, and the search
 * ends when all are used (UIDS). The garbage collector deletes a pod without its Secret at any moment or
 * never. Services, claims and the budget are left out, and so is a changed request for the same agent id,
 * which replaces its VM by the caller's request.
 */
#ifndef NCALL
#define NCALL 2
#endif
#ifndef OPS
#define OPS 1
#endif
#ifndef AGENTS
#define AGENTS 2
#endif
#ifndef KILLS
#define KILLS 1
#endif
#ifndef FAILS
#define FAILS 1
#endif
#ifndef ATT
#define ATT 0
#endif
#ifndef META
#define META 0
#endif
#ifndef DEL
#define DEL 0
#endif
#ifndef UIDS
#define UIDS 6
#endif
#ifndef TRIES
#define TRIES 3
#endif
#define NV (AGENTS+1)
#define FIN NCALL
#define DONE 1
#define ABANDONED 2

typedef vm_t { bit sEx; byte sUid; byte cre; bit rec; bit pEx; bit pDel; byte pUid; byte pOwn; bit meta; byte att };
vm_t vm[NV];
byte fr[NCALL+2];   /* bit v: the Secret of VM v is unchanged since this caller read it */
byte ans[NV];       /* uid of the Secret of the VM for which success was answered */
byte dying[NV];     /* uid of the Secret that delete_vm has begun to delete */
bit  had[NV];       /* it had a disk or metadata when it was abandoned */
byte nextS = 1; byte nextP = 1;
byte kills = KILLS; byte fails = FAILS; byte ended = 0;

#define BIT(i) (1<<(i))
inline touch(i) {
  fr[0] = fr[0] & (255 - BIT(i)); fr[1] = fr[1] & (255 - BIT(i)); fr[2] = fr[2] & (255 - BIT(i)); fr[3] = fr[3] & (255 - BIT(i));
#if NCALL > 2
  fr[4] = fr[4] & (255 - BIT(i));
#endif
}
#define FRESH(i) (fr[id] & BIT(i))
#ifdef NOMARK
#define MARKED false
#else
#define MARKED (lcre==DONE)
#endif
#define LIVING(i) (vm[i].pEx && !vm[i].pDel)
#define K if :: (id!=FIN && kills>0) -> kills--; printf("@ create_vm %d of VM %d KILLED\n",id,v); goto dead :: skip fi

proctype Create(byte id; byte ops) {
  byte v, o, su, scre, pu, hb, res, tries, ret, ru, rpu, ratt, lpo, lsu, lcre; 
  bit lp, lkept, isNew, again, second;
next:
  atomic {
    v=0;o=0;su=0;scre=0;pu=0;hb=0;res=0;tries=0;ret=0;ru=0;rpu=0;ratt=0;lpo=0;lsu=0;lcre=0;lp=0;lkept=0;isNew=0;again=0;second=0;fr[id]=0;
    if :: ops==0 -> goto fin :: else -> ops-- fi;
    if
    :: id==FIN -> v=AGENTS
    :: id!=FIN -> v=0
#if AGENTS > 1
    :: id!=FIN -> v=1
#endif
    fi;
    printf("@ create_vm %d of VM %d begins\n",id,v)
  }
hold:  /* findAddressOwners */
  atomic {
    hb=0; o=0;
    do
    :: o<NV -> if :: (o!=v && vm[o].pEx) -> hb = hb | BIT(o) :: else fi; o++
    :: else -> break
    od; o=0
  }
holder:
  K;
  do
  :: o>=NV -> goto secret
  :: o<NV && !(hb & BIT(o)) -> o++
  :: o<NV && (hb & BIT(o)) && vm[o].pDel -> /* waitForAddressOwner */
     atomic { !vm[o].pEx || !vm[o].pDel -> o++ }
  :: o<NV && (hb & BIT(o)) && !vm[o].pDel -> ret=1; tries=TRIES; goto remove
  od;
held:
  if
  :: res==1 -> printf("@ create_vm %d of VM %d REFUSED: VM %d has the address\n",id,v,o);
     assert(id!=FIN || (vm[o].sEx && (vm[o].cre==DONE || vm[o].meta || vm[o].att!=0 || vm[o].rec)));
     goto over
  :: res==2 -> assert(id!=FIN); goto over
  :: else -> o++; goto holder
  fi;

secret:  /* ensureVm: the Secret */
  o=v;
  atomic {
    if
    :: !vm[v].sEx ->
       if :: nextS>UIDS -> goto dead :: else fi;
       vm[v].sEx=1; vm[v].sUid=nextS; nextS++; vm[v].cre=0; vm[v].rec=0; had[v]=0; touch(v); fr[id]=fr[id]|BIT(v);
       su=vm[v].sUid; scre=0; printf("@ create_vm %d makes the Secret of VM %d, uid %d\n",id,v,su); goto pod
    :: else
    fi
  }
  atomic { K;
    if
    :: vm[v].sEx -> su=vm[v].sUid; scre=vm[v].cre; fr[id]=fr[id]|BIT(v); printf("@ create_vm %d finds the Secret of VM %d, uid %d\n",id,v,su)
    :: else -> su=0
    fi
  }
  if :: (su==0 || scre==ABANDONED) -> ru=su; goto former :: else fi;
pod:  /* ensureVm: the pod */
  atomic { K;
    if
    :: !vm[v].pEx ->
       if :: nextP>UIDS -> goto dead :: else fi;
       vm[v].pEx=1; vm[v].pDel=0; vm[v].pUid=nextP; nextP++; vm[v].pOwn=su; vm[v].meta=0; pu=vm[v].pUid; isNew=1;
       printf("@ create_vm %d makes the pod of VM %d\n",id,v); goto other
    :: else
    fi
  }
  atomic { K;
    if
    :: !vm[v].pEx -> ru=0; goto former
    :: vm[v].pEx && !vm[v].pDel && vm[v].pOwn==su -> pu=vm[v].pUid; isNew=0; printf("@ create_vm %d adopts VM %d\n",id,v)
    :: else -> ru=vm[v].pOwn; goto former
    fi
  }
  goto started;
former:  /* ensureVm: the objects of a previous call differ from those of this call */
  if :: again -> goto failed :: else -> again=1 fi;
  atomic { K; lkept = vm[v].att!=0 }
  atomic { K; lsu=0; if :: vm[v].sEx -> lsu=vm[v].sUid; lkept=lkept||vm[v].rec :: else fi }
  if :: lkept -> goto failed :: else fi;
  ret=3; o=v;
#ifndef BYNAME
  if :: ru!=su && lsu!=su -> goto failed :: else fi;
  if :: ru==0 -> goto secret :: else fi;
#else
  ru=0;
#endif
  goto rm;

other:  /* assertAddressesUnique */
  K;
#ifndef NOLOOK
  atomic {
    o=0;
    do
    :: o<NV && o!=v && LIVING(o) -> printf("@ create_vm %d of VM %d sees VM %d\n",id,v,o); break
    :: o<NV && !(o!=v && LIVING(o)) -> o++
    :: else -> break
    od;
    if :: o<NV -> o=v; goto failed :: else -> o=v fi
  }
#endif
started:  /* waitUntilRunning */
  K;
  if
  :: (vm[v].pEx && vm[v].pUid==pu && !vm[v].pDel) -> skip
  :: else -> goto failed
  :: atomic { (id!=FIN && fails>0) -> fails--; printf("@ create_vm %d of VM %d: a wait fails\n",id,v) }; goto failed
  fi;
mark:  /* markCreated */
  if :: scre==DONE -> goto success :: else fi;
  K;
#ifdef UNCONDITIONAL
  atomic { if :: vm[v].sEx -> vm[v].cre=DONE; touch(v); goto success :: else -> goto failed fi }
#endif
  atomic {
    if
    :: vm[v].sEx && vm[v].sUid==su && FRESH(v) ->
       vm[v].cre=DONE; touch(v); printf("@ create_vm %d marks VM %d\n",id,v);
       if :: goto success :: (id!=FIN && fails>0) -> fails--; printf("@ the answer to that is lost\n") fi
    :: else
    fi
  }
  atomic { K;
    if
    :: (!vm[v].sEx || vm[v].sUid!=su || vm[v].cre==ABANDONED) -> goto failed
    :: else -> scre=vm[v].cre; fr[id]=fr[id]|BIT(v)
    fi
  }
  goto mark;
success:
  atomic { K;
    printf("@ create_vm %d answers success for VM %d\n",id,v);
    assert(dying[v]==su || (vm[v].sEx && vm[v].sUid==su && vm[v].cre==DONE));
    if :: dying[v]==su :: else -> ans[v]=su fi;
    o=0;
    do
    :: o<NV -> assert(o==v || dying[v]==su || ans[o]==0 || !LIVING(o) || vm[o].pOwn!=ans[o]); o++
    :: else -> break
    od
  }
  goto over;
failed:  /* removeFailedVm */
  assert(id!=FIN);
  printf("@ create_vm %d of VM %d fails\n",id,v);
  ret=2; o=v; tries=TRIES; goto remove;

remove:  /* removeUnfinished of VM o; res: 0 removed, 1 kept, 2 changed too often */
  second=0;
  if :: tries==0 -> res=2; goto removed :: else -> tries-- fi;
look:
  atomic { K; lp=vm[o].pEx; lpo=vm[o].pOwn; lkept=vm[o].pEx && vm[o].meta }
  atomic { K;
    if
    :: vm[o].sEx && (!lp || vm[o].sUid==lpo) -> lsu=vm[o].sUid; lcre=vm[o].cre; lkept=lkept || vm[o].rec; if :: !second -> fr[id]=fr[id]|BIT(o) :: else fi
    :: else -> lsu=0; lkept=0
    fi
  }
  atomic { K;
    if
    :: lsu!=0 -> lkept = (lkept || vm[o].att!=0 || MARKED)
    :: else
    fi
  }
  if
  :: second && lkept -> goto resume
  :: second && !lkept -> goto rm
  :: !second && lkept -> res=1; goto removed
  :: !second && !lkept && lsu==0 && !lp -> res=0; goto removed
  :: !second && !lkept && lsu==0 && lp -> ru=lpo; goto rm
  :: else -> ru=lsu
  fi;
  if :: lcre==ABANDONED -> goto abandoned :: else fi;
  atomic { K;  /* abandon */
    if
#ifdef NOVERSION
    :: vm[o].sEx && vm[o].sUid==ru ->
#else
    :: vm[o].sEx && vm[o].sUid==ru && FRESH(o) ->
#endif
       vm[o].cre=ABANDONED; touch(o); had[o]=(vm[o].rec || vm[o].att!=0 || (vm[o].pEx && vm[o].meta));
       printf("@ create_vm %d of VM %d abandons VM %d\n",id,v,o)
    :: else -> goto remove
    fi
  }
abandoned:
#ifndef ONELOOK
  second=1; goto look;
#else
  goto rm;
#endif
resume:
  atomic { K; if :: !vm[o].sEx || vm[o].sUid!=ru || vm[o].cre!=ABANDONED -> res=1; goto removed :: else -> fr[id]=fr[id]|BIT(o) fi }
  atomic { K;
    if
    :: vm[o].sEx && FRESH(o) -> vm[o].cre=0; touch(o); res=1; printf("@ create_vm %d resumes VM %d\n",id,o); goto removed
    :: else
    fi
  }
  goto resume;
rm:  /* removeVm of VM o, of the Secret ru; 0: of the existing one */
  atomic { K; rpu=0; if :: vm[o].pEx && (ru==0 || vm[o].pOwn==ru) -> rpu=vm[o].pUid :: else fi }
  atomic { K; lsu=0; if :: vm[o].sEx && (ru==0 || vm[o].sUid==ru) -> lsu=vm[o].sUid :: else fi }
  atomic { K; ratt=0; if :: rpu!=0 && vm[o].att==rpu -> ratt=rpu :: else fi }
  atomic { K;
    if
    :: lsu!=0 && vm[o].sEx && vm[o].sUid==lsu ->
       assert(ans[o]!=lsu); assert(!had[o] || ret==3); vm[o].sEx=0; touch(o); printf("@ create_vm %d of VM %d deletes the Secret of VM %d\n",id,v,o)
    :: else
    fi
  }
  atomic { K;
    if
    :: rpu!=0 && vm[o].pEx && vm[o].pUid==rpu -> assert(ans[o]==0 || ans[o]!=vm[o].pOwn || !vm[o].sEx); vm[o].pDel=1; printf("@ create_vm %d of VM %d deletes the pod of VM %d\n",id,v,o)
    :: else
    fi
  }
  atomic { K; if :: ratt!=0 && vm[o].att==ratt -> vm[o].att=0 :: else fi }
  atomic { !(vm[o].pEx && vm[o].pUid==rpu) -> res=0 }
removed:
  atomic { lp=0;lpo=0;lsu=0;lcre=0;lkept=0;second=0;tries=0;ru=0;rpu=0;ratt=0 };
  if
  :: ret==1 -> goto held
  :: ret==3 -> goto secret
  :: else
  fi;
over:
  goto next;
dead:
  if :: id==FIN -> assert(nextS>UIDS || nextP>UIDS) :: else fi;
  goto next;
fin:
  ended++
}

/* The garbage collector, the kubelet, and the mount containers of VMs that end. */
#define CLUSTER(i) \
  :: atomic { LIVING(i) && !(vm[i].sEx && vm[i].sUid==vm[i].pOwn) -> vm[i].pDel=1; printf("@ the pod of VM %d is collected\n",i) } \
  :: atomic { vm[i].pEx && vm[i].pDel && vm[i].att==vm[i].pUid -> vm[i].att=0 } \
  :: atomic { vm[i].pEx && vm[i].pDel && vm[i].att!=vm[i].pUid -> vm[i].pEx=0; vm[i].pDel=0; vm[i].meta=0; printf("@ the pod of VM %d is gone\n",i) }
proctype Cluster() {
end:
  do
  CLUSTER(0)
  CLUSTER(1)
#if NV > 2
  CLUSTER(2)
#endif
  od
}

#if ATT
proctype Attach() {
  byte id = NCALL+1; byte n=ATT, v, u;
  do
  :: n==0 -> break
  :: n>0 -> atomic { n--; if :: v=0 :: v=AGENTS-1 fi; u=0; if :: LIVING(v) -> u=vm[v].pUid :: else fi };
     if
     :: u!=0 -> /* hot: the attachment, for the pod that was read */
        atomic { if :: vm[v].att==0 -> vm[v].att=u; printf("@ attach_disk makes an attachment to VM %d\n",v) :: else fi }
     :: u!=0 -> /* recreate: the record, on the version that was read */
        atomic { if :: vm[v].sEx -> fr[id]=fr[id]|BIT(v) :: else fi };
        atomic { if :: vm[v].sEx && FRESH(v) -> vm[v].rec=1; touch(v); printf("@ attach_disk records a disk of VM %d\n",v) :: else fi }
     :: else
     fi
  od;
  ended++
}
#endif
#if META
proctype Meta() {
  byte n=META, v;
  do
  :: n==0 -> break
  :: n>0 -> atomic { n--; if :: v=0 :: v=AGENTS-1 fi };
     atomic { if :: vm[v].pEx -> vm[v].meta=1; printf("@ set_vm_metadata of VM %d\n",v) :: else fi }
  od;
  ended++
}
#endif
#if DEL
proctype Delete() {
  byte n=DEL, v, su, pu;
  do
  :: n==0 -> break
  :: n>0 -> atomic { n--; if :: v=0 :: v=AGENTS-1 fi; su=0; pu=0;
        if :: vm[v].sEx -> su=vm[v].sUid; dying[v]=su; if :: ans[v]==su -> ans[v]=0 :: else fi :: else fi;
        if :: vm[v].pEx -> pu=vm[v].pUid :: else fi; printf("@ delete_vm of VM %d\n",v) };
     atomic { if :: su!=0 && vm[v].sEx && vm[v].sUid==su -> vm[v].sEx=0; touch(v) :: else fi };
     atomic { if :: pu!=0 && vm[v].pEx && vm[v].pUid==pu -> vm[v].pDel=1 :: else fi }
  od;
  ended++
}
#endif

init {
  byte n = NCALL;
  atomic {
    byte i=0;
    do :: i<NCALL -> run Create(i,OPS); i++ :: else -> break od;
    run Cluster();
#if ATT
    run Attach(); n++;
#endif
#if META
    run Meta(); n++;
#endif
#if DEL
    run Delete(); n++;
#endif
  }
  ended==n;
  run Create(FIN,1)
}
