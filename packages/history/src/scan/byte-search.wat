;; Returns the first position of a needle in a range of memory, -1 if there is none. Letters match in either case, because
;; bit 5 is set on both sides. A few other bytes then match too (@ and `, [ and {), so a hit is only a candidate.
;; Positions are tested by the needle's first and last byte: 64 at a time while there is no candidate, then sixteen at a time.
;; After `end` there must be 16 readable bytes and the length of the needle. The caller has set bit 5 in the needle.
(module
  (import "env" "memory" (memory 1))
  (func $find (export "find") (param $at i32) (param $end i32) (param $needle i32) (param $length i32) (result i32)
    (local $first v128) (local $last v128) (local $fold v128)
    (local $span i32) (local $limit i32) (local $mask i32) (local $candidate i32) (local $i i32) (local $far i32) (local $stop i32)
    (local.set $span (i32.sub (local.get $length) (i32.const 1)))
    (local.set $limit (i32.sub (local.get $end) (local.get $span)))
    (local.set $fold (i8x16.splat (i32.const 0x20)))
    (local.set $first (i8x16.splat (i32.load8_u (local.get $needle))))
    (local.set $last (i8x16.splat (i32.load8_u (i32.add (local.get $needle) (local.get $span)))))
    (block $done
      (loop $wide
        ;; Skips four blocks of sixteen bytes without a candidate in one step.
        (block $near
          (loop $skip
            (br_if $near (i32.gt_s (i32.add (local.get $at) (i32.const 64)) (local.get $limit)))
            (local.set $far (i32.add (local.get $at) (local.get $span)))
            (br_if $near
              (v128.any_true
                (v128.or
                  (v128.or
                    (v128.and
                      (i8x16.eq (v128.or (v128.load align=1 (local.get $at)) (local.get $fold)) (local.get $first))
                      (i8x16.eq (v128.or (v128.load align=1 (local.get $far)) (local.get $fold)) (local.get $last)))
                    (v128.and
                      (i8x16.eq (v128.or (v128.load offset=16 align=1 (local.get $at)) (local.get $fold)) (local.get $first))
                      (i8x16.eq (v128.or (v128.load offset=16 align=1 (local.get $far)) (local.get $fold)) (local.get $last))))
                  (v128.or
                    (v128.and
                      (i8x16.eq (v128.or (v128.load offset=32 align=1 (local.get $at)) (local.get $fold)) (local.get $first))
                      (i8x16.eq (v128.or (v128.load offset=32 align=1 (local.get $far)) (local.get $fold)) (local.get $last)))
                    (v128.and
                      (i8x16.eq (v128.or (v128.load offset=48 align=1 (local.get $at)) (local.get $fold)) (local.get $first))
                      (i8x16.eq (v128.or (v128.load offset=48 align=1 (local.get $far)) (local.get $fold)) (local.get $last)))))))
            (local.set $at (i32.add (local.get $at) (i32.const 64)))
            (br $skip)))
        (local.set $stop (i32.add (local.get $at) (i32.const 64)))
        (block $passed
          (loop $next
            (br_if $done (i32.ge_s (local.get $at) (local.get $limit)))
            (br_if $passed (i32.ge_s (local.get $at) (local.get $stop)))
            (local.set $mask
              (i8x16.bitmask
                (v128.and
                  (i8x16.eq (v128.or (v128.load align=1 (local.get $at)) (local.get $fold)) (local.get $first))
                  (i8x16.eq
                    (v128.or (v128.load align=1 (i32.add (local.get $at) (local.get $span))) (local.get $fold))
                    (local.get $last)))))
            (block $none
              (loop $each
                (br_if $none (i32.eqz (local.get $mask)))
                (local.set $candidate (i32.add (local.get $at) (i32.ctz (local.get $mask))))
                (br_if $done (i32.ge_s (local.get $candidate) (local.get $limit)))
                (local.set $mask (i32.and (local.get $mask) (i32.sub (local.get $mask) (i32.const 1))))
                (local.set $i (i32.const 1))
                (block $different
                  (loop $compare
                    (if (i32.ge_s (local.get $i) (local.get $span)) (then (return (local.get $candidate))))
                    (br_if $different
                      (i32.ne
                        (i32.or (i32.load8_u (i32.add (local.get $candidate) (local.get $i))) (i32.const 0x20))
                        (i32.load8_u (i32.add (local.get $needle) (local.get $i)))))
                    (local.set $i (i32.add (local.get $i) (i32.const 1)))
                    (br $compare)))
                (br $each)))
            (local.set $at (i32.add (local.get $at) (i32.const 16)))
            (br $next)))
        (br $wide)))
    (i32.const -1))

  ;; Returns the first position of a text beyond ASCII, unescaped ($a, which begins with the byte $lead in either case) or escaped ($b,
  ;; which begins with \u). Most blocks of 64 bytes have neither $lead nor such an escape, and are skipped with few instructions. In
  ;; the others, positions are tested by the first and last byte of both needles, and then `find` decides.
  (func (export "foreign")
    (param $at i32) (param $end i32) (param $a i32) (param $aLength i32) (param $b i32) (param $bLength i32) (param $lead i32)
    (result i32)
    (local $aFirst v128) (local $aLast v128) (local $bFirst v128) (local $bLast v128) (local $fold v128)
    (local $slash v128) (local $letter v128) (local $begin v128)
    (local $w0 v128) (local $w1 v128) (local $w2 v128) (local $w3 v128)
    (local $here v128) (local $next v128)
    (local $aSpan i32) (local $bSpan i32) (local $aFar i32) (local $bFar i32) (local $stop i32) (local $aPlace i32) (local $bPlace i32)
    (local $skip i32)
    (local.set $slash (i8x16.splat (i32.const 0x5c)))
    (local.set $letter (i8x16.splat (i32.const 0x75)))
    (local.set $begin (i8x16.splat (local.get $lead)))
    (local.set $aSpan (i32.sub (local.get $aLength) (i32.const 1)))
    (local.set $bSpan (i32.sub (local.get $bLength) (i32.const 1)))
    (local.set $fold (i8x16.splat (i32.const 0x20)))
    (local.set $aFirst (i8x16.splat (i32.load8_u (local.get $a))))
    (local.set $aLast (i8x16.splat (i32.load8_u (i32.add (local.get $a) (local.get $aSpan)))))
    (local.set $bFirst (i8x16.splat (i32.load8_u (local.get $b))))
    (local.set $bLast (i8x16.splat (i32.load8_u (i32.add (local.get $b) (local.get $bSpan)))))
    (block $done
      (loop $blocks
        (br_if $done (i32.ge_s (local.get $at) (local.get $end)))
        (if (i32.ge_s (local.get $at) (local.get $skip))
          (then
            (local.set $w0 (v128.load align=1 (local.get $at)))
            (local.set $w1 (v128.load offset=16 align=1 (local.get $at)))
            (local.set $w2 (v128.load offset=32 align=1 (local.get $at)))
            (local.set $w3 (v128.load offset=48 align=1 (local.get $at)))
            (local.set $skip (i32.add (local.get $at) (i32.const 64)))
            (if
              (i32.eqz
                (v128.any_true
                  (v128.or
                    (v128.or
                      (v128.or (i8x16.eq (local.get $w0) (local.get $begin)) (i8x16.eq (local.get $w1) (local.get $begin)))
                      (v128.or (i8x16.eq (local.get $w2) (local.get $begin)) (i8x16.eq (local.get $w3) (local.get $begin))))
                    (v128.or
                      (v128.or
                        (v128.and
                          (i8x16.eq (local.get $w0) (local.get $slash))
                          (i8x16.eq (v128.load offset=1 align=1 (local.get $at)) (local.get $letter)))
                        (v128.and
                          (i8x16.eq (local.get $w1) (local.get $slash))
                          (i8x16.eq (v128.load offset=17 align=1 (local.get $at)) (local.get $letter))))
                      (v128.or
                        (v128.and
                          (i8x16.eq (local.get $w2) (local.get $slash))
                          (i8x16.eq (v128.load offset=33 align=1 (local.get $at)) (local.get $letter)))
                        (v128.and
                          (i8x16.eq (local.get $w3) (local.get $slash))
                          (i8x16.eq (v128.load offset=49 align=1 (local.get $at)) (local.get $letter))))))))
              (then
                (local.set $at (local.get $skip))
                (br $blocks)))))
        (local.set $stop (i32.add (local.get $at) (i32.const 32)))
        (local.set $aFar (i32.add (local.get $at) (local.get $aSpan)))
        (local.set $bFar (i32.add (local.get $at) (local.get $bSpan)))
        (local.set $here (v128.or (v128.load align=1 (local.get $at)) (local.get $fold)))
        (local.set $next (v128.or (v128.load offset=16 align=1 (local.get $at)) (local.get $fold)))
        (if
          (v128.any_true
            (v128.or
              (v128.or
                (v128.and
                  (i8x16.eq (local.get $here) (local.get $aFirst))
                  (i8x16.eq (v128.or (v128.load align=1 (local.get $aFar)) (local.get $fold)) (local.get $aLast)))
                (v128.and
                  (i8x16.eq (local.get $here) (local.get $bFirst))
                  (i8x16.eq (v128.or (v128.load align=1 (local.get $bFar)) (local.get $fold)) (local.get $bLast))))
              (v128.or
                (v128.and
                  (i8x16.eq (local.get $next) (local.get $aFirst))
                  (i8x16.eq (v128.or (v128.load offset=16 align=1 (local.get $aFar)) (local.get $fold)) (local.get $aLast)))
                (v128.and
                  (i8x16.eq (local.get $next) (local.get $bFirst))
                  (i8x16.eq (v128.or (v128.load offset=16 align=1 (local.get $bFar)) (local.get $fold)) (local.get $bLast))))))
          (then
            (local.set $aPlace
              (call $find (local.get $at) (call $least (local.get $end) (i32.add (local.get $stop) (local.get $aSpan))) (local.get $a) (local.get $aLength)))
            (local.set $bPlace
              (call $find (local.get $at) (call $least (local.get $end) (i32.add (local.get $stop) (local.get $bSpan))) (local.get $b) (local.get $bLength)))
            (if (i32.ge_s (local.get $aPlace) (i32.const 0))
              (then
                (if (i32.lt_s (local.get $bPlace) (i32.const 0)) (then (return (local.get $aPlace))))
                (return (call $least (local.get $aPlace) (local.get $bPlace)))))
            (if (i32.ge_s (local.get $bPlace) (i32.const 0)) (then (return (local.get $bPlace))))))
        (local.set $at (local.get $stop))
        (br $blocks)))
    (i32.const -1))

  (func $least (param $a i32) (param $b i32) (result i32)
    (select (local.get $a) (local.get $b) (i32.lt_s (local.get $a) (local.get $b)))))
