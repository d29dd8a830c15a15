"""`mqctl drill`: does a cluster keep its promises?"""
